//! What columns and corners must show. Claims are about the default size; the others stand beside it in the tables.

use super::bench::Cell;
use super::layouts::{Family, Study};
use super::{ours, published};
use crate::result::{Claim, ExperimentResult};

/// `(servers, times faster than one)`: what we want of columns.
const WANTED: [(usize, f64); 4] = [(2, 2.0), (4, 4.0), (8, 8.0), (16, 12.0)];
/// The same of corners.
const WANTED_OF_CORNERS: (usize, f64) = (9, 8.0);
/// `(servers, overhead)` in columns.
const MOST_OVERHEAD: [(usize, f64); 2] = [(8, 0.08), (16, 0.20)];
/// Migrations per body and minute on eight servers.
const MOST_RESTLESS: f64 = 2.0;
/// Of a thousand migrations, so many may be part of thrashing.
const MOST_THRASHED_PER_1000: u64 = 1;

pub(super) fn add(result: &mut ExperimentResult, study: &Study) {
    let mut claims = vec![errors(study)];
    if !study.quick {
        claims.push(thrashing(study));
        claims.extend(match study.family {
            Family::Columns => columns(study),
            Family::Corners => corners(study),
        });
    }
    result.claims.extend(claims);
}

fn id(study: &Study) -> &'static str {
    match study.family {
        Family::Columns => "AP-48",
        Family::Corners => "AP-49",
    }
}

fn errors(study: &Study) -> Claim {
    let cells: Vec<&Cell> = study.cells_of(ours()).collect();
    let found: u64 = cells.iter().map(|cell| cell.errors()).sum();
    let alone: u64 = study.alone.iter().filter_map(|run| run.errors).sum();
    let runs: usize = cells
        .iter()
        .map(|cell| cell.many.iter().filter(|run| run.errors.is_some()).count())
        .sum();
    let text = "no error of any kind, on any number of servers";
    Claim::new(
        id(study),
        text,
        found + alone == 0,
        format!("{} errors in {runs} runs that were watched", found + alone),
    )
}

fn thrashing(study: &Study) -> Claim {
    let sums = study.cells_of(ours()).map(Cell::thrashed);
    let (thrashed, migrations) = sums.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    Claim::new(
        "AP-50",
        format!(
            "of 1,000 migrations at most {MOST_THRASHED_PER_1000} belongs to a pair that thrashes"
        ),
        1000 * thrashed <= MOST_THRASHED_PER_1000 * migrations,
        format!("{thrashed} pairs, {migrations} migrations"),
    )
}

fn factor(study: &Study, servers: usize, wanted: f64) -> Option<Claim> {
    let cell = study.cell(ours(), servers)?;
    let theirs = published::factor(servers).filter(|_| study.family == Family::Columns);
    let theirs = theirs.map_or(String::new(), |factor| format!(" (thesis: {factor})"));
    Some(Claim::new(
        id(study),
        format!(
            "{servers} servers are at least {wanted} times faster than one, by the slowest{theirs}"
        ),
        cell.factor() >= wanted,
        cell.factor_text(),
    ))
}

fn columns(study: &Study) -> Vec<Claim> {
    let mut claims: Vec<Claim> = WANTED
        .iter()
        .filter_map(|(servers, wanted)| factor(study, *servers, *wanted))
        .collect();
    claims.extend(
        MOST_OVERHEAD
            .iter()
            .filter_map(|(servers, most)| overhead(study, *servers, *most)),
    );
    claims.extend(study.cell(ours(), 8).map(|cell| {
        let rate = cell.mean(|run| run.restlessness());
        let text =
            format!("on 8 servers a body changes its owner at most {MOST_RESTLESS} times a minute");
        Claim::new("AP-50", text, rate <= MOST_RESTLESS, format!("{rate:.2}"))
    }));
    claims.push(published_fit(study));
    claims
}

fn overhead(study: &Study, servers: usize, most: f64) -> Option<Claim> {
    let cell = study.cell(ours(), servers)?;
    let measured = cell.median(|run| run.overhead);
    Some(Claim::new(
        "AP-51",
        format!(
            "on {servers} servers everything but the engine's step takes at most {:.0} % of the step",
            100.0 * most
        ),
        measured <= most,
        format!("{:.1} %", 100.0 * measured),
    ))
}

/// AP-52: the thesis's own number, at least.
fn published_fit(study: &Study) -> Claim {
    let ours_at = |servers: usize| study.by_fit(study.cell(ours(), servers)?);
    let pairs: Vec<(usize, f64, Option<f64>)> = published::FACTORS
        .iter()
        .map(|(n, theirs)| (*n, *theirs, ours_at(*n)))
        .collect();
    let holds = pairs
        .iter()
        .all(|(_, theirs, ours)| ours.is_some_and(|ours| ours >= *theirs));
    let measured: Vec<String> = pairs
        .iter()
        .map(|(n, theirs, ours)| {
            format!(
                "P({n}) = {} (thesis: {theirs})",
                ours.map_or("none".into(), |p| format!("{p:.2}"))
            )
        })
        .collect();
    Claim::new(
        "AP-52",
        "P(n) by the thesis's fit is at least the published one at 2, 4 and 8 servers",
        holds,
        measured.join(", "),
    )
}

fn corners(study: &Study) -> Vec<Claim> {
    let cells: Vec<&Cell> = study.cells_of(ours()).collect();
    let measured: Vec<String> = cells
        .iter()
        .map(|cell| format!("{}: {:.2}", cell.servers, cell.factor()))
        .collect();
    let faster = Claim::new(
        "AP-49",
        "every layout with corners is faster than one server, by the slowest",
        cells.iter().all(|cell| cell.factor() > 1.0),
        measured.join(", "),
    );
    let (servers, wanted) = WANTED_OF_CORNERS;
    factor(study, servers, wanted)
        .into_iter()
        .chain([faster])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::measure::Measured;

    fn run(servers: usize, slowest_ms: f64) -> Measured {
        Measured {
            servers,
            slowest_ms,
            overhead: 0.1,
            migrations: 3000,
            thrashed: 2,
            errors: Some(0),
            body_minutes: 1000.0,
            ..Measured::default()
        }
    }

    fn study(family: Family, slowest: &[(usize, f64)]) -> Study {
        let cell = |(servers, ms): &(usize, f64)| Cell {
            servers: *servers,
            size: ours(),
            ones: vec![run(1, 16.0)],
            many: vec![run(*servers, *ms)],
        };
        Study {
            family,
            quick: false,
            alone: vec![run(1, 16.0)],
            cells: slowest.iter().map(cell).collect(),
        }
    }

    fn claims(study: &Study) -> Vec<(bool, String)> {
        let info = crate::scale::ALL[0];
        let mut result = ExperimentResult::new(&info, 7);
        add(&mut result, study);
        result
            .claims
            .into_iter()
            .map(|claim| (claim.holds, claim.text))
            .collect()
    }

    fn holds(study: &Study, words: &str) -> bool {
        let claims = claims(study);
        let found = claims.iter().find(|(_, text)| text.contains(words));
        found.unwrap_or_else(|| panic!("{words}: {claims:?}")).0
    }

    #[test]
    fn columns_are_judged_by_what_is_wanted() {
        let study = study(Family::Columns, &[(2, 8.0), (4, 4.1), (8, 2.0), (16, 1.0)]);
        assert!(holds(&study, "2 servers are at least 2 times"));
        assert!(!holds(&study, "4 servers are at least 4 times"), "3.9");
        assert!(holds(&study, "16 servers are at least 12 times"));
        assert!(!holds(&study, "on 8 servers everything but"), "10 %");
        assert!(holds(&study, "on 16 servers everything but"));
        assert!(
            !holds(&study, "changes its owner at most"),
            "three times a minute"
        );
        assert!(holds(&study, "thrashes"), "8 of 12,000");
        assert!(holds(&study, "no error"));
    }

    #[test]
    fn one_error_is_too_many() {
        let mut study = study(Family::Corners, &[(9, 1.9), (3, 17.0)]);
        assert!(holds(&study, "9 servers are at least 8 times"));
        assert!(!holds(&study, "every layout"));
        study.cells[0].many[0].errors = Some(1);
        assert!(!holds(&study, "no error"));
    }

    #[test]
    fn a_quick_run_claims_only_what_a_moment_can_show() {
        let mut study = study(Family::Columns, &[(2, 8.0), (8, 9.0)]);
        study.quick = true;
        assert_eq!(claims(&study).len(), 1);
    }
}
