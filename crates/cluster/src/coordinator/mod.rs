//! The coordinator: assigns regions, notices death. Several may run; one leads.

mod planner;
#[cfg(test)]
mod planner_tests;
mod run;
mod sharing;

pub use planner::{Plan, Planner, PlannerSettings, Verdict, Why};
pub use run::{COUNTDOWN, Coordinator};
