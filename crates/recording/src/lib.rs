//! Recordings: what a gateway's client was told, in a file that a viewer can play, pause and scrub.
//!
//! ```text
//!  header │ Track │ Key: everything │ Messages │ Messages │ … │ Key: everything │ Messages │ … │ Index │ where the index is
//! ```
//! A recording holds the very messages of `docs/protocols/client.md`; whoever can follow a live world can follow a recorded one. Now and then
//! everything is told anew (a *key*), so that one can begin in the middle. `docs/protocols/recording.md` describes every byte.
//!
//! - [`Writer`] writes one, [`Recording`] reads one, however it was cut off or damaged.
//! - [`PoseTrack`] makes a track out of poses, for producers that have no gateway: several of them side by side show the same world as
//!   several places see it.
//!
//! Nothing here opens files or knows the time.

mod format;
mod poses;
mod reader;
mod writer;

pub use format::{
    CHUNK_KINDS, Header, MAX_CHUNK_BYTES, MAX_HEADER_BYTES, MOST_TRACKS, SIMULATED_START, VERSION,
};
pub use poses::{Pose, PoseSettings, PoseTrack};
pub use reader::{Chunk, ChunkKind, Messages, Recording, RecordingError};
pub use writer::{TrackId, WriteError, Writer};
