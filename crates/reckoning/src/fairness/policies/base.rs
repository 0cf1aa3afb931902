//! Every vector to everybody at once.

use super::{Context, Policy};

/// The thesis's base case (DR-27).
#[derive(Clone, Copy, Debug, Default)]
pub struct Base;

impl Policy for Base {
    fn name(&self) -> String {
        "base".into()
    }

    fn on_trigger(&mut self, context: &mut Context<'_>) {
        context.send_newest_if(|_, _| true);
    }
}
