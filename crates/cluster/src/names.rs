//! Names of processes and of the ends of their channels.

use channel::EndpointId;
use domain::RegionId;
use rand::TryRng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A process of the cluster. Drawn anew at every start, so a name never means two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// The highest bit tells the end of a node from that of a region.
const NODE_BIT: u64 = 1 << 63;
/// And this one an end for single datagrams without a channel, such as heartbeats.
const PULSE_BIT: u64 = 1 << 62;
/// And this one the ends for what is said of consistency groups.
const GROUP_BIT: u64 = 1 << 61;
const END_BITS: u64 = NODE_BIT | PULSE_BIT | GROUP_BIT;

impl NodeId {
    /// A name that nobody else has.
    pub fn draw() -> Self {
        let word = rand::rngs::SysRng
            .try_next_u64()
            .expect("the operating system has randomness");
        Self(word & !END_BITS | 1)
    }

    /// The process's own end.
    pub fn endpoint(self) -> EndpointId {
        EndpointId(self.0 | NODE_BIT)
    }

    /// The process's end for heartbeats.
    pub fn pulse_endpoint(self) -> EndpointId {
        EndpointId(self.0 | NODE_BIT | PULSE_BIT)
    }

    /// The process's end for what must arrive of what is said of consistency groups.
    pub fn group_endpoint(self) -> EndpointId {
        EndpointId(self.0 | NODE_BIT | GROUP_BIT)
    }

    /// The same for what may be lost, pings above all.
    pub fn group_pulse_endpoint(self) -> EndpointId {
        EndpointId(self.0 | END_BITS)
    }

    /// Is it one of the two ends for consistency groups?
    pub fn is_group_endpoint(endpoint: EndpointId) -> bool {
        endpoint.0 & NODE_BIT != 0 && endpoint.0 & GROUP_BIT != 0
    }

    /// Whose end it is; `None` for a region's.
    pub fn of_endpoint(endpoint: EndpointId) -> Option<Self> {
        let is_node = endpoint.0 & NODE_BIT != 0;
        is_node.then_some(Self(endpoint.0 & !END_BITS))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{:016x}", self.0)
    }
}

/// In files and in the control plane a name is written as people see it.
impl Serialize for NodeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Ok(Self(u64::deserialize(deserializer)?));
        }
        let text = String::deserialize(deserializer)?;
        text.strip_prefix('n')
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom(format!("'{text}' is no node's name")))
    }
}

/// A world's generation: one more whenever it is started anew (reset, another scene, other regions).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Generation(pub u32);

/// How often a region has got an owner: a fencing token. Of two servers that both believe to own a region, the one with the lower term
/// is wrong, and nobody listens to it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Term(pub u32);

impl Term {
    /// The term of the next owner.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A region of one generation, and its end of channels. Regions of another generation are other regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Which world.
    pub generation: Generation,
    /// Which region of it.
    pub region: RegionId,
}

impl Place {
    /// Its end.
    pub fn endpoint(self) -> EndpointId {
        EndpointId(u64::from(self.generation.0 & 0x3fff_ffff) << 32 | u64::from(self.region.0))
    }

    /// Whose end it is; `None` for a node's.
    pub fn of_endpoint(endpoint: EndpointId) -> Option<Self> {
        (endpoint.0 & NODE_BIT == 0).then_some(Self {
            generation: Generation((endpoint.0 >> 32) as u32),
            region: RegionId(endpoint.0 as u32),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "g{}/{}", self.generation.0, self.region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_their_spelling_and_no_two_kinds_of_ends_are_the_same() {
        let node = NodeId::draw();
        let text = serde_json::to_string(&node).expect("a string");
        assert_eq!(serde_json::from_str::<NodeId>(&text).expect("ours"), node);
        assert!(serde_json::from_str::<NodeId>("\"17\"").is_err());
        let place = Place {
            generation: Generation(3),
            region: RegionId(9),
        };
        assert_eq!(Place::of_endpoint(place.endpoint()), Some(place));
        assert_eq!(Place::of_endpoint(node.endpoint()), None);
        assert_eq!(NodeId::of_endpoint(node.endpoint()), Some(node));
        assert_eq!(NodeId::of_endpoint(place.endpoint()), None);
        let ends = [
            node.endpoint(),
            node.pulse_endpoint(),
            node.group_endpoint(),
            node.group_pulse_endpoint(),
        ];
        for (index, end) in ends.into_iter().enumerate() {
            assert_eq!(NodeId::of_endpoint(end), Some(node));
            assert_eq!(Place::of_endpoint(end), None);
            assert!(!ends[..index].contains(&end));
            assert_eq!(NodeId::is_group_endpoint(end), index >= 2);
        }
        assert!(!NodeId::is_group_endpoint(place.endpoint()));
    }
}
