//! Scene files and the built-in scenes that tests, demo, experiments and benches share.
//!
//! A scene is to a run what a score is to a concert: it says which bodies stand where, what appears
//! and what a user does at which time, and how the ground is cut into regions. The same scene runs on
//! one server or on nine. The format is described key by key in `docs/scenes.md`.
//!
//! ```
//! let scene = scenes::Scene::load("head-on").unwrap();
//! assert_eq!(scene.bodies.len(), 2);
//! let wrong = scenes::Scene::parse("secnods = 3", None).unwrap_err();
//! assert!(wrong.to_string().contains("did you mean `seconds`?"));
//! ```
//!
//! Reading goes in this order: `reader` gives typed access to a TOML file and remembers every mistake
//! with its place; `parse` and its neighbours turn tables into a [`Scene`]; `spawns` unrolls the
//! injectors; `builtin` holds the scenes we ship, `generated` those that are written by rule, for any size.

mod bodies;
pub mod builtin;
mod closed_box;
pub mod encounters;
mod errors;
pub mod generated;
mod injectors;
mod joints;
mod load;
mod nearest;
mod numbers;
mod obj;
mod parse;
mod problems;
mod reader;
mod regions;
mod rotation;
mod scene;
mod shakes;
mod shapes;
mod spawns;
mod summary;

pub use errors::{SceneError, SceneErrors};
pub use generated::{Crowd, Generated, NoSuchSize, ShotAt, text_of};
pub use load::{LoadError, MAX_FILE_BYTES};
pub use numbers::Short;
pub use scene::{Action, Command, Injector, Regions, Scene, Tolerances};
pub use scene::{MAX_BODIES, MAX_SECONDS, MAX_SERVERS};
pub use spawns::Spawn;
