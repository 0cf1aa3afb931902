//! Where a master is: what replicas are made of.

use super::Grid;
use domain::{BodyId, SimTime};
use glam::DVec3;
use reckoning::codec::{BitReader, BitWriter, Malformed};

/// A sample of a master's motion.
///
/// ```text
/// owner ── Update ──▶ every station that shows the body
/// body elastic │ time signed µs │ segment u8 │ position 3 × steps │ has velocity u1 │ (3 × steps) │ has acceleration u1 │ (3 × steps)
/// ```
///
/// Position history sends the position only; DIS all three. At 4096 steps per unit, within ±500 of the origin: 11 bytes in the plane, 14 in space,
/// 19 with a velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Which.
    pub body: BodyId,
    /// When it was there, on the shared clock.
    pub time: SimTime,
    /// The number of its stretch of free motion, modulo 256: one more after every bounce.
    pub segment: u8,
    /// Where.
    pub position: DVec3,
    /// Present with DIS, and in the first updates of a stretch if so chosen.
    pub velocity: Option<DVec3>,
    /// Present with DIS.
    pub acceleration: Option<DVec3>,
}

impl Update {
    pub(super) fn put(&self, out: &mut BitWriter, grid: &Grid) {
        out.elastic(self.body.0);
        grid.put_time(out, self.time);
        out.bits(self.segment.into(), 8);
        grid.put_vector(out, self.position);
        for vector in [self.velocity, self.acceleration] {
            out.flag(vector.is_some());
            if let Some(vector) = vector {
                grid.put_vector(out, vector);
            }
        }
    }

    pub(super) fn get(reader: &mut BitReader<'_>, grid: &Grid) -> Result<Self, Malformed> {
        let body = BodyId(reader.elastic("body")?);
        let time = grid.get_time(reader, "time")?;
        let segment = reader.bits(8, "segment")? as u8;
        let position = grid.get_vector(reader, "position")?;
        let mut optional = |what| match reader.flag(what) {
            Ok(true) => grid.get_vector(reader, what).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(Self {
            body,
            time,
            segment,
            position,
            velocity: optional("velocity")?,
            acceleration: optional("acceleration")?,
        })
    }
}
