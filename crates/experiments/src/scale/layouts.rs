//! E1 and E2: columns and corners, each number of servers against one, for every size of auras.

use super::bench::{Bench, Cell, Job};
use super::fits::{Asymptotic, Exponential};
use super::measure::{Measured, mean};
use super::moments::moments;
use super::{SIZES, Scale, layout_claims, layout_figures, layout_tables, ours};
use crate::result::{ExperimentError, ExperimentInfo, ExperimentResult};
use boundary::AuraSize;
use scenes::Generated;

/// How regions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Columns,
    Corners,
}

impl Family {
    /// More than one server each: one alone is what they are compared with.
    fn servers(self, quick: bool) -> &'static [usize] {
        match (self, quick) {
            (Self::Columns, false) => &[2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32],
            (Self::Columns, true) => &[2, 4],
            (Self::Corners, false) => &[3, 4, 9, 16, 36],
            (Self::Corners, true) => &[3, 4],
        }
    }

    fn scene(self, servers: usize) -> Generated {
        match self {
            Self::Columns => Generated::E1Columns(servers),
            Self::Corners => Generated::E1Corners(servers),
        }
    }

    /// As in texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Columns => "columns",
            Self::Corners => "corners",
        }
    }
}

/// Everything that was run.
pub(super) struct Study {
    pub(super) family: Family,
    pub(super) quick: bool,
    /// The thesis's one server: the scene for one column.
    pub(super) alone: Vec<Measured>,
    pub(super) cells: Vec<Cell>,
}

impl Study {
    pub(super) fn cells_of(&self, size: AuraSize) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.size == size)
    }

    pub(super) fn cell(&self, size: AuraSize, servers: usize) -> Option<&Cell> {
        self.cells_of(size).find(|cell| cell.servers == servers)
    }

    /// E5's baseline: the longest tick of one server over its objects.
    pub(super) fn baseline(&self) -> Option<Exponential> {
        exponential(&self.alone)
    }

    /// E6: the thesis's factor by its fit. `log10 F = a + b o` over all objects of the world, for one server and for
    /// n: with perfect scaling n servers have the exponent of one divided by n, so P(n) is b of one / b of n.
    pub(super) fn by_fit(&self, cell: &Cell) -> Option<f64> {
        let (one, many) = (self.baseline()?, exponential(&cell.many)?);
        let factor = one.0.b / many.0.b;
        factor.is_finite().then_some(factor)
    }

    /// Towards what P(n) tends, by the thesis's regression, the one server itself included.
    pub(super) fn asymptote(
        &self,
        size: AuraSize,
        of: impl Fn(&Cell) -> Option<f64>,
    ) -> Option<Asymptotic> {
        let points = self
            .cells_of(size)
            .filter_map(|cell| Some((cell.servers as f64, of(cell)?)));
        let points: Vec<(f64, f64)> = [(1.0, 1.0)].into_iter().chain(points).collect();
        Asymptotic::through(&points)
    }

    /// E5: what being at a border costs more than not being there, milliseconds, mean over windows. For o objects on
    /// a server, half of them near borders: its time less twice that of o / 2 objects on one server.
    pub(super) fn border_cost(&self, cell: &Cell) -> Option<f64> {
        let baseline = self.baseline()?;
        let moments = moments(&cell.many);
        let extra = moments.iter().map(|moment| {
            let objects = moment.bodies / cell.servers as f64;
            moment.longest_ms - 2.0 * baseline.at(0.5 * objects)
        });
        (!moments.is_empty()).then(|| mean(extra))
    }
}

fn exponential(runs: &[Measured]) -> Option<Exponential> {
    let moments = moments(runs);
    let points: Vec<(f64, f64)> = moments.iter().map(|m| (m.bodies, m.longest_ms)).collect();
    Exponential::through(&points)
}

pub(super) fn run(
    info: &ExperimentInfo,
    family: Family,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<ExperimentResult, ExperimentError> {
    let study = measure(family, scale, progress)?;
    let mut result = ExperimentResult::new(info, scale.seed);
    layout_tables::add(&mut result, &study);
    layout_claims::add(&mut result, &study);
    layout_figures::add(&mut result, &study);
    result.notes.extend([FACTOR, FITS, OPEN].map(String::from));
    Ok(result)
}

const FACTOR: &str = "Factor: the scene for n servers, run on one and on n of them in turn, mean CPU time per \
    tick of the one over that of the slowest of the n; the median over pairs, with least and most. P(n) by \
    the thesis's fit is another number: exponents of log10 of the longest tick over all objects, that of one \
    server with the scene for one over that of n (our reading of 5.1.4).";
const FITS: &str = "Windows of 5 s, the most of any server in each, the mean of that over runs (thesis 5.1). \
    The asymptote is that of R's SSasymp by least squares; where the factors do not bend there is none. \
    Single longest ticks are noisy, and with them everything that is fitted to them.";
const OPEN: &str = "Every server has the same share of the 160 bodies/s. The depth of the columns (200 m), the \
    side of regions with corners (150 m), the walls around the world, and what one server gets (the volumes \
    of an inner column) are ours: the thesis's text does not say.";

fn measure(
    family: Family,
    scale: &Scale,
    progress: &mut dyn FnMut(f64),
) -> Result<Study, ExperimentError> {
    let (seconds, window_secs) = if scale.quick { (3.0, 1.0) } else { (60.0, 5.0) };
    let counts = family.servers(scale.quick);
    let (seeds, rounds) = (scale.seeds as usize, scale.rounds as usize);
    let per_count = seeds * (2 * rounds + SIZES.len() - 1);
    let mut bench = Bench::new(seeds + counts.len() * per_count, window_secs, progress);
    let single = Generated::E1Columns(1).scene();
    let mut study = Study {
        family,
        quick: scale.quick,
        alone: Vec::new(),
        cells: Vec::new(),
    };
    for index in 0..scale.seeds {
        let job = Job {
            scene: &single,
            servers: 1,
            size: ours(),
            seed: scale.seed_of(index),
            seconds,
            watched: true,
        };
        study.alone.push(bench.run(&job)?);
    }
    for servers in counts {
        let scene = family.scene(*servers).scene();
        let job = Job {
            scene: &scene,
            servers: *servers,
            size: ours(),
            seed: 0,
            seconds,
            watched: true,
        };
        study.cells.extend(compare(&mut bench, &job, scale)?);
    }
    Ok(study)
}

/// One server and then every size in turn, round after round. The sizes that are only compared with ours are run once
/// per seed.
pub(super) fn compare(
    bench: &mut Bench,
    job: &Job,
    scale: &Scale,
) -> Result<Vec<Cell>, ExperimentError> {
    let mut cells: Vec<Cell> = SIZES.iter().map(|size| cell(job.servers, *size)).collect();
    for index in 0..scale.seeds {
        for round in 0..scale.rounds {
            let (seed, watched) = (scale.seed_of(index), round == 0);
            let one = bench.run(&Job {
                servers: 1,
                seed,
                watched,
                ..*job
            })?;
            for cell in &mut cells {
                if cell.size != ours() && round > 0 {
                    continue;
                }
                let many = bench.run(&Job {
                    size: cell.size,
                    seed,
                    watched,
                    ..*job
                })?;
                cell.ones.push(one.clone());
                cell.many.push(many);
            }
        }
    }
    Ok(cells)
}

fn cell(servers: usize, size: AuraSize) -> Cell {
    Cell {
        servers,
        size,
        ones: Vec::new(),
        many: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::measure::Window;

    /// A run whose longest tick grows tenfold with every so many bodies.
    fn growing(servers: usize, tenfold: f64) -> Measured {
        let window = |index: u32| {
            let bodies = 800.0 * f64::from(index);
            Window {
                until_secs: 5.0 * f64::from(index),
                longest_ms: 10_f64.powf(bodies / tenfold),
                bodies: bodies as u64,
                ..Window::default()
            }
        };
        Measured {
            servers,
            windows: (1..=12).map(window).collect(),
            ..Measured::default()
        }
    }

    fn study(tenfold: &[(usize, f64)]) -> Study {
        let cells = tenfold.iter().map(|(servers, tenfold)| Cell {
            many: vec![growing(*servers, *tenfold)],
            ..cell(*servers, ours())
        });
        Study {
            family: Family::Columns,
            quick: false,
            alone: vec![growing(1, 5000.0)],
            cells: cells.collect(),
        }
    }

    /// E6: half the exponent is twice the performance.
    #[test]
    fn perfect_scaling_has_the_factor_n() {
        let study = study(&[(2, 10_000.0), (4, 17_000.0)]);
        let factors: Vec<f64> = study
            .cells
            .iter()
            .filter_map(|cell| study.by_fit(cell))
            .collect();
        assert!(
            (factors[0] - 2.0).abs() < 1e-9 && (factors[1] - 3.4).abs() < 1e-9,
            "{factors:?}"
        );
    }

    #[test]
    fn the_published_factors_bend() {
        let published = [(2, 1.74), (3, 2.7), (4, 3.40), (8, 4.22)];
        let study = study(&published.map(|(servers, factor)| (servers, 5000.0 * factor)));
        let end = study
            .asymptote(ours(), |cell| study.by_fit(cell))
            .expect("they bend");
        assert!((4.0..5.0).contains(&end.asymptote), "{end:?}");
    }

    /// E5: a server that takes as long as two with half of its objects has nothing on top.
    #[test]
    fn border_cost_is_what_is_left() {
        let mut study = study(&[(2, 10_000.0)]);
        let baseline = study.baseline().expect("it grows");
        for window in &mut study.cells[0].many[0].windows {
            let objects = window.bodies as f64 / 2.0;
            window.longest_ms = 2.0 * baseline.at(0.5 * objects) + 0.25;
        }
        let cost = study.border_cost(&study.cells[0]).expect("measured");
        assert!((cost - 0.25).abs() < 1e-9, "{cost}");
    }
}
