//! What a region server must know before it starts.

use boundary::BoundaryConfig;
use domain::{RegionId, RegionMap, Static};
use glam::Vec3;
use std::sync::Arc;

/// The configuration of one region server.
#[derive(Clone, Debug)]
pub struct RegionConfig {
    /// Which region it runs.
    pub id: RegionId,
    /// All regions.
    pub map: RegionMap,
    /// Policy, sizes, tolerances, step.
    pub boundary: BoundaryConfig,
    /// m/s².
    pub gravity: Vec3,
    /// Static scenery; every region has all of it (AP-35).
    pub statics: Arc<[Static]>,
    /// Take a snapshot every so many ticks; `None`: never. More often: less is rewound by a crash, more is copied.
    pub snapshot_ticks: Option<u64>,
}
