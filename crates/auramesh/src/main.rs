//! The command line of Auramesh.
fn main() {}
