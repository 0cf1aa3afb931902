//! The digest of a world's state.

use crate::world::World;
use xxhash_rust::xxh3::Xxh3;

impl World {
    /// A digest of id, pose, velocities and sleep of every body, in `BodyId` order. It depends on
    /// nothing else: not on the engine's handles, not on the region's origin.
    pub fn state_hash(&self) -> u64 {
        let mut digest = Xxh3::new();
        for (id, entry) in &self.bodies {
            let rigid = &self.physics.bodies[entry.handle];
            let mut bytes = [0u8; 73];
            bytes[0..8].copy_from_slice(&id.0.to_le_bytes());
            let position = self.frame.world(rigid.translation());
            for (i, v) in position.to_array().into_iter().enumerate() {
                bytes[8 + i * 8..16 + i * 8].copy_from_slice(&v.to_bits().to_le_bytes());
            }
            let floats = rigid
                .rotation()
                .to_array()
                .into_iter()
                .chain(rigid.linvel().to_array())
                .chain(rigid.angvel().to_array());
            for (i, v) in floats.enumerate() {
                bytes[32 + i * 4..36 + i * 4].copy_from_slice(&v.to_bits().to_le_bytes());
            }
            bytes[72] = u8::from(rigid.is_sleeping());
            digest.update(&bytes);
        }
        digest.digest()
    }
}
