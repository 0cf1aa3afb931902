//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod buckets;
mod bytes;
mod cheats;
mod checklist;
mod dead_reckoning;
mod defects;
mod departures;
mod improvements;
mod motion_lock;
mod offline_band;
mod protocols;
