//! Auramesh: every published experiment, re-run and compared
