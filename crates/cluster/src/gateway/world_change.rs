//! A world started anew: reset, another scene, other regions. All servers and gateways follow the control plane.

use crate::membership::Membership;
use crate::names::Generation;
use crate::schema::{self, WorldOptions, WorldSpec, WorldSpecError};
use crate::store::{StoreError, Transaction, Unchanged, Write};
use boundary::Boundary;
use client_protocol::{RegionPlan, SceneChoice};
use domain::{RegionId, RegionMap};
use std::borrow::Cow;
use thiserror::Error;

/// How the next world differs from this one.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldChange {
    /// Not at all: from the beginning.
    Reset,
    /// Another scene.
    Scene(SceneChoice),
    /// Other regions.
    Regions(RegionPlan),
}

/// Why there is no other world.
#[derive(Debug, Error)]
pub enum WorldChangeError {
    /// There is none yet.
    #[error("there is no world yet")]
    NoWorld,
    /// No such built-in scene.
    #[error("there is no built-in scene '{0}'")]
    UnknownScene(String),
    /// It cannot be made.
    #[error(transparent)]
    Spec(#[from] WorldSpecError),
    /// The control plane does not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Someone else may be faster, but not that often.
const ATTEMPTS: usize = 5;

/// Starts the world anew. If someone else does so at the same time, one comes after the other.
pub async fn change_world(
    membership: &Membership,
    change: &WorldChange,
) -> Result<Generation, WorldChangeError> {
    let key = membership.keys().world();
    let mut conflict = StoreError::Conflict;
    for _ in 0..ATTEMPTS {
        let view = membership.look().await?;
        let Some(current) = &view.world else {
            return Err(WorldChangeError::NoWorld);
        };
        let next = next_world(current, change)?;
        let transaction = Transaction {
            conditions: vec![Unchanged {
                since: view.revision(&key),
                key: key.clone(),
            }],
            writes: vec![Write::Put {
                key: key.clone(),
                value: schema::to_bytes(&next),
                lease: None,
            }],
        };
        match membership.store().commit(transaction).await {
            Ok(_) => return Ok(next.generation),
            Err(StoreError::Conflict) => conflict = StoreError::Conflict,
            Err(error) => return Err(error.into()),
        }
    }
    Err(conflict.into())
}

/// The world after this one.
fn next_world(current: &WorldSpec, change: &WorldChange) -> Result<WorldSpec, WorldChangeError> {
    let mut next = match change {
        WorldChange::Reset => current.clone(),
        WorldChange::Scene(choice) => {
            let text = match choice {
                SceneChoice::Text(text) => Cow::Borrowed(text.as_str()),
                SceneChoice::BuiltIn(name) => scenes::text_of(name)
                    .and_then(Result::ok)
                    .ok_or_else(|| WorldChangeError::UnknownScene(name.clone()))?,
            };
            let options = WorldOptions {
                // As many servers as before have something to do, if the scene's own layout can be cut like that.
                regions: Some(current.map.len()),
                ..WorldOptions::default()
            };
            // A scene from outside gets no files of ours.
            WorldSpec::new(&text, None, &options)
                .or_else(|_| WorldSpec::new(&text, None, &WorldOptions::default()))?
        }
        WorldChange::Regions(plan) => {
            let map = match plan {
                RegionPlan::Layout { layout, count } => {
                    RegionMap::build(*layout, usize::from(*count), current.map.extent())
                }
                RegionPlan::Boxes(boxes) => RegionMap::boxes(boxes, current.map.extent()),
            };
            let map = map.map_err(WorldSpecError::from)?;
            // Too small for the auras? Better refused here than by every server.
            Boundary::new(RegionId(0), map.clone(), current.boundary, true)
                .map_err(WorldSpecError::from)?;
            WorldSpec {
                map,
                ..current.clone()
            }
        }
    };
    next.generation = Generation(current.generation.0 + 1);
    next.start_unix_ns = None;
    // From the scene's own beginning.
    next.placed.clear();
    next.min_servers = current.min_servers;
    next.snapshot_ticks = current.snapshot_ticks;
    next.boundary.aura = current.boundary.aura;
    next.boundary.handover = current.boundary.handover;
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Layout, Rect};

    fn orbit() -> WorldSpec {
        let text = scenes::builtin::text("orbit").expect("built in");
        let spec = WorldSpec::new(text, None, &WorldOptions::default()).expect("fits");
        WorldSpec {
            start_unix_ns: Some(5),
            ..spec
        }
    }

    // AP-44, AP-45
    #[test]
    fn the_next_world_is_another_generation_that_has_not_started() {
        let current = orbit();
        let scene = SceneChoice::BuiltIn("islands".to_owned());
        let plan = RegionPlan::Layout {
            layout: Layout::Columns,
            count: 2,
        };
        for change in [
            WorldChange::Reset,
            WorldChange::Scene(scene),
            WorldChange::Regions(plan),
        ] {
            let next = next_world(&current, &change).expect("possible");
            assert_eq!(next.generation, Generation(current.generation.0 + 1));
            assert_eq!(next.start_unix_ns, None);
            let changed = next.scene != current.scene || next.map != current.map;
            assert_eq!(changed, change != WorldChange::Reset);
        }
    }

    #[test]
    fn what_cannot_be_a_world_is_refused() {
        let current = orbit();
        let [x, z] = current.map.extent().min;
        let sliver = Rect {
            min: [x, z],
            max: [x + 1.0, z + 1.0],
        };
        for change in [
            WorldChange::Scene(SceneChoice::BuiltIn("no such".to_owned())),
            WorldChange::Scene(SceneChoice::Text("gravity = 'up'".to_owned())),
            WorldChange::Regions(RegionPlan::Boxes(vec![sliver])),
            WorldChange::Regions(RegionPlan::Layout {
                layout: Layout::Columns,
                count: 1000,
            }),
        ] {
            assert!(next_world(&current, &change).is_err(), "{change:?}");
        }
    }
}
