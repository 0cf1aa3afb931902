//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod narrow_phase;
mod pair_rules;
mod space;
mod subdivision;
