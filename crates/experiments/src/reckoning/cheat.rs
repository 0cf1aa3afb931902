//! A client that lies (beyond the thesis): it reports every vector as received two seconds late, to look worse off than it is and
//! be sent what was meant for others.

use super::motion::Motion;
use super::plans::{DET_PA, Plan};
use super::relation::in_nearly_all;
use super::summary::Summary;
use super::trial::{Setup, luck};
use super::{Scale, parallel};
use crate::result::{Claim, ExperimentError, ExperimentResult};
use crate::table::Table;
use domain::SimTime;
use reckoning::fairness::{
    Ack, LedgerSettings, Link, Measure, PolicyTag, ReceiverId, SenderError, mean, population_sd,
};
use serde_json::json;

const PLANS: [Plan; 1] = [DET_PA];
/// All four alike, so that an honest one gets a quarter.
const DELAY_MS: f64 = 200.0;
const CLIENTS: u32 = 4;
const LIAR: ReceiverId = ReceiverId(0);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Honest,
    Unclamped,
    Clamped,
    /// And no client is granted more than 250 ms.
    Admitted,
}

impl Case {
    const ALL: [Self; 4] = [Self::Honest, Self::Unclamped, Self::Clamped, Self::Admitted];

    fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::Unclamped => "lying, believed",
            Self::Clamped => "lying, clamped",
            Self::Admitted => "lying, clamped, 250 ms admitted",
        }
    }

    fn settings(self) -> LedgerSettings {
        LedgerSettings {
            clamp: self != Self::Unclamped,
            admitted_delay: (self == Self::Admitted).then(|| SimTime::from_millis(250.0)),
            ..LedgerSettings::default()
        }
    }
}

fn forge(ack: &mut Ack) {
    for (_, at) in &mut ack.pairs {
        *at += SimTime::from_secs(2.0);
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Played {
    /// Vectors to the liar, as a multiple of an equal share.
    share: f64,
    /// True errors: of the honest ones on average, and of all four.
    others: f64,
    mean: f64,
    sd: f64,
    worst: f64,
    vectors: f64,
    triggers_per_sec: f64,
}

fn play(case: Case, motion: Motion, scale: &Scale, run: u32) -> Result<Played, SenderError> {
    let setup = Setup {
        links: vec![Link::fixed(DELAY_MS); CLIENTS as usize],
        settings: case.settings(),
        ..Setup::thesis(motion, 0.0, &PLANS, scale.secs)
    };
    let trace = setup.trace(scale.seed, run);
    let mut rehearsal = setup.rehearsal(scale.seed, run)?;
    if case != Case::Honest {
        rehearsal.corrupt(LIAR, forge);
    }
    let mut rng = luck(scale.seed, run);
    for vector in &trace.vectors {
        rehearsal.trigger(vector.time, *vector, &mut rng)?;
    }
    rehearsal.advance(setup.end())?;
    let tag = PolicyTag(0);
    let sent: Vec<f64> = rehearsal
        .sender()
        .recipients(tag)
        .iter()
        .map(|one| one.ledger.counts().sent as f64)
        .collect();
    let errors: Vec<f64> = (0..CLIENTS)
        .map(|id| rehearsal.true_error(tag, ReceiverId(id), setup.end(), &Measure::default()))
        .collect();
    let vectors = sent.iter().sum::<f64>();
    Ok(Played {
        share: f64::from(CLIENTS) * sent[0] / vectors,
        others: mean(&errors[1..]),
        mean: mean(&errors),
        sd: population_sd(&errors),
        worst: errors.iter().copied().fold(0.0, f64::max),
        vectors,
        triggers_per_sec: trace.rate(),
    })
}

/// Adds the table and its claims.
pub(super) fn add(
    result: &mut ExperimentResult,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<(), ExperimentError> {
    let motion = Motion::Smooth;
    let jobs: Vec<(Case, u32)> = Case::ALL
        .into_iter()
        .flat_map(|case| (0..scale.seeds).map(move |run| (case, run)))
        .collect();
    let work = |(case, run): &(Case, u32)| play(*case, motion, scale, *run);
    let runs = parallel::map(&jobs, work, progress);
    let runs: Vec<Played> = runs.into_iter().collect::<Result<_, _>>()?;
    let of = |case: Case| {
        let own = jobs.iter().zip(&runs).filter(|(job, _)| job.0 == case);
        own.map(|(_, run)| *run).collect::<Vec<_>>()
    };
    let mut table = Table::new(
        "Beyond the thesis: one of four clients at 200 ms reports every reception 2 s late (det PA, smooth)",
        &[
            "Client",
            "Triggers/s",
            "Its vectors, × equal share",
            "Mean AEE of the others, unit·s",
            "Mean of all",
            "SD",
            "Worst",
            "Vectors",
        ],
    );
    for case in Case::ALL {
        let over = |of_run: fn(&Played) -> f64| Summary::of(of(case).iter().map(of_run));
        let (share, others) = (over(|run| run.share), over(|run| run.others));
        let (mean, sd) = (over(|run| run.mean), over(|run| run.sd));
        let (worst, vectors) = (over(|run| run.worst), over(|run| run.vectors));
        let rate = over(|run| run.triggers_per_sec);
        result.rows.push(json!({
            "table": "cheating-client",
            "regime": motion,
            "case": case.name(),
            "seeds": scale.seeds,
            "triggers_per_sec": rate.json(),
            "share": share.json(),
            "others_mean_aee": others.json(),
            "mean_aee": mean.json(),
            "sd_aee": sd.json(),
            "worst_aee": worst.json(),
            "vectors_sent": vectors.json(),
            "published": null,
        }));
        table.push(vec![
            case.name().into(),
            format!("{:.1}", rate.mean),
            share.text(),
            others.text(),
            mean.text(),
            sd.text(),
            worst.text(),
            format!("{:.0}", vectors.mean),
        ]);
    }
    result.tables.push(table);
    let pairs: Vec<(f64, f64, f64)> = of(Case::Unclamped)
        .iter()
        .zip(of(Case::Clamped))
        .zip(of(Case::Admitted))
        .map(|((believed, clamped), admitted)| (believed.share, clamped.share, admitted.share))
        .collect();
    let (holds, held) = in_nearly_all(&pairs, |(believed, clamped, admitted)| {
        clamped - 1.0 < 0.5 * (believed - 1.0) && (admitted - 1.0).abs() < 0.15
    });
    let mean = |case: Case| Summary::of(of(case).iter().map(|run| run.share)).mean;
    result.claims.push(Claim::new(
        "beyond",
        "clamping takes away most of what a lying client gains; with a longest admitted delay of 250 ms nothing worth lying for is left (within 15 % of an equal share)",
        holds,
        format!(
            "share of vectors: honest × {:.2}, believed × {:.2}, clamped × {:.2}, admitted × {:.2}; in {held} of {} seeds",
            mean(Case::Honest), mean(Case::Unclamped), mean(Case::Clamped), mean(Case::Admitted), pairs.len()
        ),
    ));
    Ok(())
}
