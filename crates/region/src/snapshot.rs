//! A region's complete state at a tick, as a value and as bytes.

use boundary::BoundarySnapshot;
use domain::{BodyId, Cluster, Static, Tick};
use serde::{Deserialize, Serialize};
use world::WorldError;

/// Everything needed to start the region again elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RegionSnapshot {
    /// The state is that after this tick.
    pub tick: Tick,
    /// All bodies with joints and contact memory.
    pub bodies: Cluster,
    /// Ownership, handovers, announced spawns.
    pub boundary: BoundarySnapshot,
    /// Scenery that was put up since the start.
    pub scenery: Vec<Static>,
}

impl RegionSnapshot {
    /// As bytes, for a standby or a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a snapshot holds only what can be written")
    }

    /// From bytes; what is not a snapshot is an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, postcard::Error> {
        postcard::from_bytes(bytes)
    }

    /// Takes out the bodies that no engine could take in; says which, and why. They are lost, but a region that comes back without them is better than none.
    pub fn mend(&mut self) -> Vec<(BodyId, WorldError)> {
        let out = world::mend_cluster(&mut self.bodies);
        for (body, _) in &out {
            self.boundary.forget(*body);
        }
        out
    }
}
