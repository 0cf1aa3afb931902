//! The live cluster: what the simulator proved, run for real.
//!
//! ```text
//!        control plane (store): who is who, who has which region
//!          ▲ watch, compare-and-set            ▲
//!   coordinator ◄── heartbeats, clock ──  region servers ◄── channels over a carrier ──► region servers
//!                                               │ feeds, answers
//!                                            gateway ──► clients
//! ```

pub mod carrier;
pub mod clock;
pub mod config;
pub mod coordinator;
pub mod correspondent;
pub mod gateway;
mod geometry;
pub mod groups;
pub mod membership;
pub mod message_kinds;
pub mod messages;
pub mod metrics;
pub mod names;
pub mod node;
pub mod observer;
pub mod operations;
pub mod post_office;
pub mod schema;
pub mod server;
pub mod store;

/// What entry points return. An `async fn` is compiled again in every program that awaits it, with all it uses of hyper and the like; a boxed future once, here.
pub type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
