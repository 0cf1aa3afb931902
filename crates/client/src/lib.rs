//! The client library: connect to a gateway, see a part of the world, command it, ask it.
//!
//! ```no_run
//! # async fn example() -> Result<(), client::ClientError> {
//! use client::{Client, Options};
//! use client_protocol::Spawn;
//! use domain::Shape;
//!
//! let mut client = Client::connect("ws://127.0.0.1:8080/ws", Options::default()).await?;
//! let ball = client.spawn(Spawn::new(Shape::Sphere { radius: 0.5 }, glam::DVec3::new(0.0, 5.0, 0.0))).await?;
//! for (body, pose) in client.bodies() {
//!     println!("{body} is at {}", pose.position);
//! }
//! client.remove(ball).await?;
//! # Ok(())
//! # }
//! ```
//! [`Scene`] is the core of it: messages in, poses out, no I/O. [`Client`] drives one over a WebSocket, or over WebTransport (feature `tls`). [`Bot`] drives a client, for load tests.
//! [`stations`] play against each other directly, over UDP.

mod bot;
mod connection;
mod link;
mod options;
mod pace;
mod scene;
pub mod stations;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "tls")]
mod webtransport;

pub use bot::{Bot, BotReport, BotSettings};
pub use client_protocol::{
    Answer, Area, Command, Goodbye, Hit, Injection, RegionPlan, SceneChoice, Spawn, StaticPiece,
    Struck,
};
pub use connection::{Client, ClientError};
pub use options::{Options, Tap};
pub use pace::Pace;
pub use reckoning::stream::Shown;
pub use scene::{Event, KnownBody, Scene, SceneError, Traffic};

/// What entry points return. An `async fn` is compiled again in every program that awaits it, with all it uses of hyper and the like; a boxed future once, here.
pub type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
