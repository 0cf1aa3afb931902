//! How lively a world is, and how much of it is inside each other: whether something that was done to it has left
//! traces.

use crate::world::World;

impl World {
    /// The kinetic energy of everything that is awake, joules.
    pub fn kinetic_energy(&self) -> f64 {
        let awake = self.physics.active_bodies();
        awake
            .map(|(_, rigid)| f64::from(rigid.kinetic_energy()))
            .sum()
    }

    /// How many pairs that touch, scenery included, overlap by more than this.
    pub fn pairs_deeper_than(&self, depth_m: f32) -> usize {
        let pairs = self.physics.narrow_phase.contact_pairs();
        let is_deep = |dist: f32| -dist > depth_m;
        pairs
            .filter_map(|pair| pair.find_deepest_contact())
            .filter(|(_, point)| is_deep(point.dist))
            .count()
    }
}
