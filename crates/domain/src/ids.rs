//! Names of things. Each is a newtype, so that a body is never mistaken for a region.

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
    /// A rigid body. It stays the same wherever the body is simulated, and is never used again.
    /// The order of ids is the order in which we walk over bodies, so every walk is the same walk.
    BodyId(u64), "b"
}
id! {
    /// A region, and the region server that runs it: the index in its [`RegionMap`](crate::RegionMap).
    RegionId(u32), "r"
}
id! {
    /// A joint between two bodies.
    JointId(u64), "j"
}
id! {
    /// A piece of static scenery, the same on every region.
    StaticId(u32), "s"
}
id! {
    /// How often a body has changed its owner: 0 at birth, one more at each migration, so that the
    /// higher epoch is right. 32 bits last 2 years at one migration per tick at 60 Hz.
    Epoch(u32), "e"
}

impl Epoch {
    /// The epoch of the body's next ownership.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
