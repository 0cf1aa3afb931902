//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod all_scenes;
mod bound;
mod conservation;
mod crashes;
mod determinism;
mod figure_3_1;
mod group_hits;
mod group_relay;
mod group_runs;
mod neighbours_only;
mod per_server;
mod promises;
mod replicate;
mod stream_targets;
mod thrash;
mod timelines;
mod unsynchronised;
