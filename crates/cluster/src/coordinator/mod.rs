//! The coordinator: assigns regions, notices death. Several may run; one leads.

mod planner;
mod run;

pub use planner::{Plan, Planner, PlannerSettings, Verdict, Why};
pub use run::Coordinator;
