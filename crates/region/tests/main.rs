//! All of this crate's integration tests are one program: to link one takes longer than to run most of them.

mod common;

mod broken;
mod conversations;
mod handover;
mod projection;
mod remote_aura;
mod restart;
mod scenery;
mod unequal_servers;
