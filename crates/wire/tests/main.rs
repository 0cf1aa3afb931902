//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod golden;
mod hostile;
mod replicate;
mod round_trip;
