//! Writes a recording, front to back: what has been written can be read, whatever happens next.

use crate::format::{
    END_MAGIC, Header, INDEX, KEY, MAX_CHUNK_BYTES, MAX_HEADER_BYTES, MESSAGES, MOST_TRACKS, NOTE,
    TRACK, checksum, put_text,
};
use std::io::{self, Write};
use thiserror::Error;

/// A track of a recording that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrackId(pub(crate) u16);

/// Why something is not written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file takes no more.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
    /// It would become longer than allowed.
    #[error("the recording is {0} bytes long, and must not be longer")]
    Full(u64),
    /// So much at once fits into no chunk.
    #[error("{0} bytes at once are too many")]
    TooLong(usize),
    /// One track too many.
    #[error("a recording has at most {MOST_TRACKS} tracks")]
    TooManyTracks,
    /// Time stands still or goes on.
    #[error("time goes back: {to} ns after {from} ns")]
    TimeGoesBack {
        /// The last time.
        from: u64,
        /// The time now.
        to: u64,
    },
}

/// Writes a recording.
///
/// ```
/// # fn main() -> Result<(), recording::WriteError> {
/// let header = recording::Header { title: "two stations".to_owned(), ..Default::default() };
/// let mut writer = recording::Writer::new(Vec::new(), &header)?;
/// let a = writer.track("station A")?;
/// writer.note(a, 0, "it begins")?;
/// let bytes = writer.finish()?;
/// assert!(recording::Recording::parse(&bytes).is_ok_and(|recording| recording.is_complete()));
/// # Ok(())
/// # }
/// ```
pub struct Writer<W> {
    out: W,
    written: u64,
    most: u64,
    tracks: usize,
    keys: Vec<(u16, u64, u64)>,
    time: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    pub fn new(mut out: W, header: &Header) -> Result<Self, WriteError> {
        let bytes = header.encode();
        if bytes.len() > MAX_HEADER_BYTES {
            return Err(WriteError::TooLong(bytes.len()));
        }
        out.write_all(&bytes)?;
        Ok(Self {
            out,
            written: bytes.len() as u64,
            most: u64::MAX,
            tracks: 0,
            keys: Vec::new(),
            time: 0,
        })
    }

    /// It must not become longer than so many bytes (the index comes on top).
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.most = bytes;
        self
    }

    /// How many bytes have been written.
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// How many keys have been written.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// One more track.
    pub fn track(&mut self, name: &str) -> Result<TrackId, WriteError> {
        if self.tracks >= MOST_TRACKS {
            return Err(WriteError::TooManyTracks);
        }
        let id = TrackId(self.tracks as u16);
        let mut body = Vec::new();
        put_text(&mut body, name);
        self.chunk(TRACK, id, self.time, &body)?;
        self.tracks += 1;
        Ok(id)
    }

    /// Everything is told anew: the messages begin with Welcome, and whoever hears them needs nothing from before.
    pub fn key<M: AsRef<[u8]>>(
        &mut self,
        track: TrackId,
        time: u64,
        messages: &[M],
    ) -> Result<(), WriteError> {
        let offset = self.written;
        self.chunk(KEY, track, time, &list(messages))?;
        self.keys.push((track.0, time, offset));
        Ok(())
    }

    /// What has happened since the last message of the track.
    pub fn messages<M: AsRef<[u8]>>(
        &mut self,
        track: TrackId,
        time: u64,
        messages: &[M],
    ) -> Result<(), WriteError> {
        self.chunk(MESSAGES, track, time, &list(messages))
    }

    /// Something to be shown at that time.
    pub fn note(&mut self, track: TrackId, time: u64, text: &str) -> Result<(), WriteError> {
        let mut body = Vec::new();
        put_text(&mut body, text);
        self.chunk(NOTE, track, time, &body)
    }

    fn chunk(
        &mut self,
        kind: u8,
        track: TrackId,
        time: u64,
        body: &[u8],
    ) -> Result<(), WriteError> {
        if time < self.time {
            let from = self.time;
            return Err(WriteError::TimeGoesBack { from, to: time });
        }
        if body.len() > MAX_CHUNK_BYTES {
            return Err(WriteError::TooLong(body.len()));
        }
        let mut head = vec![kind];
        head.extend(track.0.to_le_bytes());
        head.extend(time.to_le_bytes());
        head.extend((body.len() as u32).to_le_bytes());
        let crc = checksum([&head, body]);
        head.extend(crc.to_le_bytes());
        let length = (head.len() + body.len()) as u64;
        if kind != INDEX && self.written + length > self.most {
            return Err(WriteError::Full(self.written));
        }
        self.out.write_all(&head)?;
        self.out.write_all(body)?;
        self.written += length;
        self.time = time;
        Ok(())
    }

    /// The last word: an index of all keys, and where it is.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let offset = self.written;
        let mut body = self.time.to_le_bytes().to_vec();
        // Half a million hours of keys fit.
        let keys = &self.keys[..self.keys.len().min(MAX_CHUNK_BYTES / 32)];
        body.extend((keys.len() as u32).to_le_bytes());
        for (track, time, offset) in keys {
            body.extend(track.to_le_bytes());
            body.extend(time.to_le_bytes());
            body.extend(offset.to_le_bytes());
        }
        self.chunk(INDEX, TrackId(0), self.time, &body)?;
        self.out.write_all(&offset.to_le_bytes())?;
        self.out.write_all(&END_MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn list<M: AsRef<[u8]>>(messages: &[M]) -> Vec<u8> {
    let mut body = (messages.len() as u32).to_le_bytes().to_vec();
    for message in messages {
        let message = message.as_ref();
        body.extend((message.len() as u32).to_le_bytes());
        body.extend(message);
    }
    body
}
