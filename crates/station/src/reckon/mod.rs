//! Dead reckoning: what a master's owner sends, and what others make of it.

mod converge;
mod forecast;
mod history;
mod kalman;
mod leg;
mod replica;
mod sender;

pub(crate) use forecast::Forecasts;
pub(crate) use history::{History, Sample};
pub(crate) use leg::Leg;
pub(crate) use replica::Replica;
pub(crate) use sender::{Sender, Subject, Surroundings};
