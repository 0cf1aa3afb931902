//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod fairness_common;
mod replication_common;
mod stream_common;

mod fairness_error;
mod fairness_headline;
mod fairness_ledger;
mod fairness_policies;
mod fairness_server;
mod motion_clock;
mod motion_convergence;
mod motion_models;
mod motion_receiver;
mod motion_trigger;
mod replication_codec;
mod replication_demo;
mod replication_lossy;
mod replication_modes;
mod stream_gaps;
mod stream_golden;
mod stream_hostile;
mod stream_lossy;
mod stream_round_trip;
mod stream_scope;
mod stream_shared;
