//! The digest of a world's state.

use crate::world::World;
use domain::BodyId;
use rapier3d::prelude::RigidBody;
use xxhash_rust::xxh3::Xxh3;

/// What one body adds to the digest: id, position, rotation, two velocities, sleep.
const RECORD: usize = 8 + 24 + 16 + 12 + 12 + 1;
/// Bodies gathered before they are digested. The gathering loop is then short enough for the processor
/// to fetch several bodies from memory at once, which is where the time goes.
const BATCH: usize = 64;

impl World {
    /// A digest of id, pose, velocities and sleep of every body, in `BodyId` order. It depends on
    /// nothing else: not on the engine's handles, not on the region's origin.
    pub fn state_hash(&self) -> u64 {
        let mut digest = Xxh3::new();
        let mut batch = [0u8; BATCH * RECORD];
        let mut used = 0;
        for (id, slot) in self.bodies.slots() {
            let (rigid, _) = self
                .physics
                .bodies
                .get_unknown_gen(slot)
                .expect("it is here");
            // Only what was inserted since the last step can doze; the others' entries need not be fetched.
            let dozes = !self.fresh.is_empty() && self.bodies[&id].dozes;
            let asleep = dozes || rigid.is_sleeping();
            self.write_record(id, rigid, asleep, &mut batch[used..used + RECORD]);
            used += RECORD;
            if used == batch.len() {
                digest.update(&batch);
                used = 0;
            }
        }
        digest.update(&batch[..used]);
        digest.digest()
    }

    #[inline]
    fn write_record(&self, id: BodyId, rigid: &RigidBody, asleep: bool, record: &mut [u8]) {
        let position = self.frame.world(rigid.translation());
        let mut out = Writer { record, at: 0 };
        out.write(id.0.to_le_bytes());
        for v in position.to_array() {
            out.write(v.to_le_bytes());
        }
        for v in rigid.rotation().to_array() {
            out.write(v.to_le_bytes());
        }
        for v in rigid.linvel().to_array() {
            out.write(v.to_le_bytes());
        }
        for v in rigid.angvel().to_array() {
            out.write(v.to_le_bytes());
        }
        out.write([u8::from(asleep)]);
    }
}

struct Writer<'a> {
    record: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn write<const N: usize>(&mut self, bytes: [u8; N]) {
        self.record[self.at..self.at + N].copy_from_slice(&bytes);
        self.at += N;
    }
}
