//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod claims_common;

mod bench_sections;
mod claims;
mod motion_lock_claims;
mod reckoning_claims;
mod scale_claims;
mod storey_claims;
