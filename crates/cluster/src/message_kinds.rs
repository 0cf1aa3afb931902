//! All kinds of messages between the processes of a cluster with their numbers and names, as `docs/protocols/cluster.md` lists them.
//!
//! `postcard` writes the number of an enum's variant first: these are the numbers. The functions name every variant, so whoever adds one is reminded here by the
//! compiler, and by a test that compares the tables with the bytes and with the page.

use crate::messages::{Answer, FromRegion, Question, RegionState, ToRegion};

/// A message of several kinds.
pub trait Kinds {
    /// All kinds: number and name.
    const KINDS: &'static [(u8, &'static str)];

    /// This one's name.
    fn kind(&self) -> &'static str;
}

macro_rules! kinds {
    ($type:ty { $($number:literal $name:literal $pattern:pat,)* }) => {
        impl Kinds for $type {
            const KINDS: &'static [(u8, &'static str)] = &[$(($number, $name),)*];

            fn kind(&self) -> &'static str {
                match self {
                    $($pattern => $name,)*
                }
            }
        }
    };
}

kinds!(FromRegion {
    0 "Snapshot" Self::Snapshot { .. },
    1 "Feed" Self::Feed(_),
    2 "Record" Self::Record { .. },
    3 "Answer" Self::Answer { .. },
    4 "Insight" Self::Insight(_),
    5 "SnapshotPiece" Self::SnapshotPiece { .. },
});

kinds!(ToRegion {
    0 "Kept" Self::Kept { .. },
    1 "Subscribe" Self::Subscribe(_),
    2 "Ask" Self::Ask { .. },
    3 "Inspect" Self::Inspect { .. },
    4 "Seen" Self::Seen { .. },
});

kinds!(Question {
    0 "Spawn" Self::Spawn(_),
    1 "PutUp" Self::PutUp(_),
    2 "Remove" Self::Remove(_),
    3 "Impulse" Self::Impulse { .. },
    4 "Velocity" Self::Velocity { .. },
    5 "Ray" Self::Ray { .. },
    6 "Overlap" Self::Overlap { .. },
    7 "Account" Self::Account,
});

kinds!(Answer {
    0 "Done" Self::Done { .. },
    1 "NotHere" Self::NotHere,
    2 "Refused" Self::Refused(_),
    3 "Hit" Self::Hit(_),
    4 "Touching" Self::Touching(_),
    5 "Account" Self::Account(_),
});

kinds!(RegionState {
    0 "Ready" Self::Ready,
    1 "Recovering" Self::Recovering,
    2 "Running" Self::Running,
    3 "GivenAway" Self::GivenAway,
});
