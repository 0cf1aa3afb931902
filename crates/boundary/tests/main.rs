//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod out_of_order;
mod relay_between_groups;
mod replicate;
mod six_algorithms;
