//! Auramesh: many regions in one thread under virtual time, watched by checkers
