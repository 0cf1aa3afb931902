//! Every k-th vector to everybody.

use super::{Context, Policy};
use std::num::NonZeroU32;

/// The thesis's 1/k base case (DR-27): the 1st, (k+1)-th, (2k+1)-th … trigger.
#[derive(Clone, Copy, Debug)]
pub struct EveryKth {
    every: NonZeroU32,
    /// Triggers until the next one that is sent.
    skip: u32,
}

impl EveryKth {
    /// Sends one trigger in `every`.
    pub fn new(every: NonZeroU32) -> Self {
        Self { every, skip: 0 }
    }
}

impl Policy for EveryKth {
    fn name(&self) -> String {
        format!("1/{} base", self.every)
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        let due = self.skip == 0;
        self.skip = if due { self.every.get() } else { self.skip } - 1;
        context.send_newest_if(|context, index| due || context.is_new(index));
    }
}
