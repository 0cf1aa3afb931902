//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod bad_input;
mod checklist;
mod codec;
mod grouping;
mod one_by_one;
mod relay;
