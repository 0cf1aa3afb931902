//! Names of nodes, groups, epochs, and of the vertices of a group's tree.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id! {
    /// A machine that simulates (the thesis: collision detection node). Given by the coordinator in the order of
    /// joining and never given again; the lowest id of a group is its leader.
    NodeId(u32), "n"
}
id! {
    /// A consistency group. Given by the coordinator and never given again: a group whose members change keeps its id
    /// and gets a new epoch.
    GroupId(u32), "g"
}
id! {
    /// How often the coordinator has allocated anything: one more with every re-allocation of any group, so that the
    /// higher one is right. 64 bits never run out.
    GroupEpoch(u64), "e"
}
id! {
    /// A process through which a user acts. Given by the coordinator, never given again.
    ClientId(u32), "c"
}
id! {
    /// A vote. Given by the coordinator, never given again.
    VoteId(u64), "vote"
}
id! {
    /// Where messages for someone go; the driver knows what it means (an endpoint, a socket, an index).
    Address(u64), "@"
}
id! {
    /// A physical machine. Whoever shares one needs no network between them (ST-55).
    MachineId(u64), "m"
}
id! {
    /// A vertex of a group's tree, as in a binary heap: the root is 0, the halves of k are 2k+1 and 2k+2. With the world's
    /// bounds and the rule of cutting it is the complete name of a sub-space (thesis §4.3.1.3, ST-16).
    VertexId(u64), "v"
}

/// The name of an object: the client it belongs to, and a number that client has given it (thesis §4.3.1.3, ST-24). Objects of
/// the system belong to client −1 and are numbered by the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// −1, or a client.
    pub client: i32,
    /// Unique within the client.
    pub id: u64,
}

impl ObjectKey {
    /// A persistent object: nobody's, kept by the system.
    pub fn persistent(id: u64) -> Self {
        Self { client: -1, id }
    }

    /// An object of a client: an avatar. `None` for the few ids beyond what a key can hold.
    pub fn of_client(client: ClientId, id: u64) -> Option<Self> {
        let client = i32::try_from(client.0).ok()?;
        Some(Self { client, id })
    }

    /// Whose it is; `None`: the system's.
    pub fn owner(self) -> Option<ClientId> {
        u32::try_from(self.client).ok().map(ClientId)
    }

    /// Does it belong to the system?
    pub fn is_persistent(self) -> bool {
        self.client < 0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "o{}:{}", self.client, self.id)
    }
}

impl GroupEpoch {
    /// The epoch of the next allocation.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl VertexId {
    /// The whole world.
    pub const ROOT: Self = Self(0);
    /// The deepest a vertex may be: 48 halvings leave nothing a body would fit into.
    pub const MAX_DEPTH: u32 = 48;

    /// The lower half.
    #[must_use]
    pub fn left(self) -> Self {
        Self(2 * self.0 + 1)
    }

    /// The upper half.
    #[must_use]
    pub fn right(self) -> Self {
        Self(2 * self.0 + 2)
    }

    /// The vertex this is a half of; `None` for the root.
    pub fn parent(self) -> Option<Self> {
        (self.0 > 0).then(|| Self((self.0 - 1) / 2))
    }

    /// How many cuts lead here from the root.
    pub fn depth(self) -> u32 {
        // Saturating: a vertex from outside may be any number, and the last one has no successor.
        self.0.saturating_add(1).ilog2()
    }

    /// The turns from the root to here: `false` left, `true` right.
    pub fn path(self) -> impl Iterator<Item = bool> {
        let depth = self.depth();
        (0..depth)
            .rev()
            .map(move |bit| self.0.saturating_add(1) >> bit & 1 == 1)
    }

    /// Is this the other vertex or one above it?
    pub fn contains(self, other: Self) -> bool {
        let deeper = other.depth().checked_sub(self.depth());
        deeper.is_some_and(|by| other.0.saturating_add(1) >> by == self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st_24_persistent_objects_belong_to_client_minus_one() {
        let crate_ = ObjectKey::persistent(7);
        assert_eq!((crate_.client, crate_.owner()), (-1, None));
        let avatar = ObjectKey::of_client(ClientId(3), 7).expect("a small id");
        assert_eq!((avatar.client, avatar.owner()), (3, Some(ClientId(3))));
        assert_ne!(crate_, avatar, "the same number twice, two objects");
        assert_eq!(ObjectKey::of_client(ClientId(u32::MAX), 0), None);
    }

    #[test]
    fn st_16_vertices_are_numbered_like_a_heap() {
        assert_eq!(VertexId::ROOT.left(), VertexId(1));
        assert_eq!(VertexId::ROOT.right(), VertexId(2));
        assert_eq!(VertexId(2).left(), VertexId(5));
        assert_eq!(VertexId(6).right(), VertexId(14));
        for k in 1..1000 {
            let v = VertexId(k);
            let parent = v.parent().expect("not the root");
            assert!(parent.left() == v || parent.right() == v);
            assert_eq!(parent.depth() + 1, v.depth());
            let walked = v.path().fold(
                VertexId::ROOT,
                |at, right| if right { at.right() } else { at.left() },
            );
            assert_eq!(walked, v);
            assert!(parent.contains(v) && !v.contains(parent) && v.contains(v));
        }
        assert!(
            !VertexId(1).contains(VertexId(5)),
            "5 is the left half of 2"
        );
    }
}
