//! One hot region on several threads: an option of the build, not of the run.
//!
//! Cargo unifies features, so `--all-features` would switch the engine's parallel step on for every test. A `cfg` is
//! outside of that: `RUSTFLAGS="--cfg auramesh_parallel" cargo run --release -- run ...`

/// Does this build step worlds on several threads? Then on as many as `RAYON_NUM_THREADS` says (default: one per core),
/// which all regions of a process share.
///
/// Rapier's own tests hold its parallel step to the same bits for any number of threads, and to those of the sequential
/// one only with its feature `enhanced-determinism`, which we do not use; we have proved neither for worlds that take
/// part in handovers, so a build with it refuses the commands whose state hashes somebody compares.
pub const STEPS_IN_PARALLEL: bool = cfg!(auramesh_parallel);
