//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod borders;
mod contacts_begun;
mod exact_handover;
mod hostile;
mod parts_handover;
mod plain_rapier;
mod queries;
mod shapes_and_joints;
mod stack_handover;
