//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod bad_files;
mod builtin_runs;
mod builtins;
mod format;
mod generated;
mod no_panic;
mod spawns;
