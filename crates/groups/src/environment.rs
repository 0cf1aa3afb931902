//! What everyone must know of the world (the thesis's EnvironmentProperties, §4.3.1.2), and the kinds of objects in it.

use crate::{Address, ClientId, Division, GroupId, MachineId, Mode, NodeId, ObjectKey};
use glam::Vec3;

/// How an object moves, and so how it is handled (thesis §3.3.4, §4.3.2.5; ST-25).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObjectClass {
    /// Never. Told once, to everyone; simulated by nobody.
    Static,
    /// By forces and collisions only: kept by the nodes, replicated and transferred between them.
    Physical,
    /// As a programme decides; like `Physical`, and its decisions are the same on every node.
    Ai(AiParameters),
    /// As a user decides: told by its client, extrapolated in between.
    Avatar,
}

impl ObjectClass {
    /// Do nodes simulate it on their own?
    pub fn is_deterministic(self) -> bool {
        matches!(self, Self::Physical | Self::Ai(_))
    }
}

/// What an AI object's decisions depend on. Replicated with the object, so that every node decides the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AiParameters {
    /// Of its chance.
    pub seed: u64,
    /// How fast it goes, m/s.
    pub speed: f32,
    /// It decides anew every so many ticks; at least 1.
    pub every_ticks: u32,
}

impl AiParameters {
    /// A wanderer: where it wants to go at this tick, on the ground. The same numbers on every node.
    pub fn wander(&self, tick: u64) -> Vec3 {
        let decision = tick / u64::from(self.every_ticks.max(1));
        let dice = mix(self.seed ^ mix(decision));
        let angle = (dice >> 40) as f32 / (1_u32 << 24) as f32 * std::f32::consts::TAU;
        Vec3::new(angle.cos(), 0.0, angle.sin()) * self.speed
    }
}

/// One round of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// What is known of an object beside its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectInfo {
    /// Its name.
    pub key: ObjectKey,
    /// How it moves.
    pub class: ObjectClass,
    /// What it looks like: objects of one kind share their geometry.
    pub kind: u32,
    /// Half the side of the smallest cube around it in any orientation, metres.
    pub extent_m: f32,
}

/// A node, as others must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its name.
    pub node: NodeId,
    /// Where it hears.
    pub address: Address,
    /// What it runs on.
    pub machine: MachineId,
    /// Its group.
    pub group: GroupId,
}

/// A client, as nodes must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Its name.
    pub client: ClientId,
    /// Where it hears.
    pub address: Address,
    /// What it runs on.
    pub machine: MachineId,
    /// The node on its machine, if there is one; its group's leader is who it talks to.
    pub host: Option<NodeId>,
}

/// What can change while a world runs; the light-weight form (ST-50).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Population {
    /// Who simulates, by id.
    pub nodes: Vec<NodeInfo>,
    /// Who acts, by id.
    pub clients: Vec<ClientInfo>,
    /// Their objects, by key.
    pub avatars: Vec<ObjectInfo>,
}

/// Everything; told once to a newcomer.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// The world's name, as a number.
    pub world: u64,
    /// Its bounds and how they are cut.
    pub division: Division,
    /// Do members wait for each other?
    pub mode: Mode,
    /// Do nodes extrapolate avatars (ST-46)?
    pub dead_reckoning: bool,
    /// The world's own objects: immoveable and deterministic ones, by key.
    pub objects: Vec<ObjectInfo>,
    /// What can change.
    pub population: Population,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ST-25: an AI object's decisions follow from its parameters and the tick alone.
    #[test]
    fn st_25_every_node_decides_the_same_for_an_ai_object() {
        let ai = AiParameters {
            seed: 7,
            speed: 2.0,
            every_ticks: 30,
        };
        let copy = ai;
        let decisions: Vec<Vec3> = (0..300).map(|tick| ai.wander(tick)).collect();
        assert!((0..300).all(|tick| copy.wander(tick) == decisions[tick as usize]));
        assert_eq!(decisions[0], decisions[29]);
        assert_ne!(decisions[29], decisions[30]);
        assert!(decisions.iter().all(|v| (v.length() - 2.0).abs() < 1e-5));
        assert_ne!(AiParameters { seed: 8, ..ai }.wander(0), decisions[0]);
    }

    #[test]
    fn st_25_who_simulates_which_class() {
        let ai = AiParameters {
            seed: 0,
            speed: 1.0,
            every_ticks: 1,
        };
        assert!(ObjectClass::Physical.is_deterministic() && ObjectClass::Ai(ai).is_deterministic());
        assert!(!ObjectClass::Static.is_deterministic() && !ObjectClass::Avatar.is_deterministic());
    }
}
