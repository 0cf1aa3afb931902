//! Auramesh: one region server as a value
