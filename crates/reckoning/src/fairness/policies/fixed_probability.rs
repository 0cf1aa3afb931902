//! Every vector to each receiver with the same fixed probability.

use super::{Context, Policy};

/// The thesis's "1/3 probabilistic" control (DR-32). It costs as much as 1/k base and does worse: its gaps are irregular, and
/// error grows the faster the longer a receiver waits.
#[derive(Clone, Copy, Debug)]
pub struct FixedProbability {
    probability: f64,
}

impl FixedProbability {
    /// `probability` in [0, 1].
    pub fn new(probability: f64) -> Self {
        Self { probability }
    }
}

impl Policy for FixedProbability {
    fn name(&self) -> String {
        format!("fixed {:.3}", self.probability)
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        let probability = self.probability;
        context.send_newest_if(|context, index| {
            context.is_new(index) || context.luck(index) < probability
        });
    }
}
