//! Reads a recording: all of it, or as much as there is before it was cut off or damaged.

use crate::format::{
    Bytes, CHECKED_HEAD, CHUNK_HEAD, END_MAGIC, Header, INDEX, KEY, MAGIC, MAX_CHUNK_BYTES,
    MAX_HEADER_BYTES, MESSAGES, MOST_TRACKS, NOTE, TRACK, VERSION, checksum,
};
use thiserror::Error;

/// Why a file is no recording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordingError {
    /// It begins like something else.
    #[error("not a recording")]
    NotARecording,
    /// Another version of the format.
    #[error("a recording of version {0}; this program reads version {VERSION}")]
    Version(u16),
    /// Its header is cut off or damaged.
    #[error("the recording's header is damaged")]
    Header,
}

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkKind {
    /// Everything is told anew.
    Key,
    /// What happened.
    Messages,
    /// Something to be shown.
    Note,
}

/// One chunk of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// What it is.
    pub kind: ChunkKind,
    /// Of which track.
    pub track: u16,
    /// When, nanoseconds after the recording's start.
    pub time: u64,
    /// Where it begins in the file.
    pub offset: u64,
    body: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Its messages, if it is not a note.
    pub fn messages(&self) -> Messages<'a> {
        let mut bytes = Bytes(self.body);
        let left = match self.kind {
            ChunkKind::Note => 0,
            _ => bytes.u32().unwrap_or(0),
        };
        Messages { left, bytes }
    }

    /// Its text, if it is a note.
    pub fn note(&self) -> Option<String> {
        (self.kind == ChunkKind::Note).then(|| Bytes(self.body).text())?
    }
}

/// The messages of a chunk, one by one.
pub struct Messages<'a> {
    left: u32,
    bytes: Bytes<'a>,
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let length = self.bytes.u32()? as usize;
        self.bytes.take(length)
    }
}

/// A recording that has been read.
#[derive(Clone, Debug)]
pub struct Recording<'a> {
    /// How it was made.
    pub header: Header,
    /// The names of its tracks.
    pub tracks: Vec<String>,
    chunks: Vec<Chunk<'a>>,
    complete: bool,
    read: u64,
}

impl<'a> Recording<'a> {
    /// Reads as much as there is. Only a file without a sound header is refused.
    pub fn parse(file: &'a [u8]) -> Result<Self, RecordingError> {
        let (header, length) = read_header(file)?;
        let mut recording = Self {
            header,
            tracks: Vec::new(),
            chunks: Vec::new(),
            complete: false,
            read: length as u64,
        };
        let mut at = length;
        let mut time = 0;
        while let Some((head, body)) = read_chunk(&file[at..]) {
            if head.time < time || !recording.take(at as u64, &head, body) {
                break;
            }
            time = head.time;
            let end = at + CHUNK_HEAD + body.len();
            recording.read = end as u64;
            if head.kind == INDEX {
                let trailer = [&(at as u64).to_le_bytes()[..], &END_MAGIC[..]].concat();
                recording.complete = file[end..] == trailer[..];
                break;
            }
            at = end;
        }
        Ok(recording)
    }

    fn take(&mut self, offset: u64, head: &Head, body: &'a [u8]) -> bool {
        let kind = match head.kind {
            TRACK => {
                let name = Bytes(body).text();
                let next = usize::from(head.track) == self.tracks.len();
                let fits = next && self.tracks.len() < MOST_TRACKS;
                self.tracks.extend(name.filter(|_| fits));
                return fits && self.tracks.len() == usize::from(head.track) + 1;
            }
            KEY => ChunkKind::Key,
            MESSAGES => ChunkKind::Messages,
            NOTE => ChunkKind::Note,
            INDEX => return true,
            _ => return false,
        };
        let chunk = Chunk {
            kind,
            track: head.track,
            time: head.time,
            offset,
            body,
        };
        let known = usize::from(head.track) < self.tracks.len();
        if known {
            self.chunks.push(chunk);
        }
        known
    }

    /// Was it finished, and is all of it here?
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many bytes of the file are sound.
    pub fn sound_bytes(&self) -> u64 {
        self.read
    }

    /// Its length in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.chunks.last().map_or(0, |chunk| chunk.time)
    }

    /// Everything in it, in the order of time.
    pub fn chunks(&self) -> &[Chunk<'a>] {
        &self.chunks
    }

    /// What one track told from its last key at or before a time up to that time: what a viewer needs to show it.
    pub fn up_to(&self, track: u16, time: u64) -> impl Iterator<Item = &Chunk<'a>> {
        let end = self.chunks.partition_point(|chunk| chunk.time <= time);
        let of_track = move |chunk: &&Chunk<'a>| chunk.track == track;
        let is_key = |chunk: &Chunk<'a>| chunk.kind == ChunkKind::Key && chunk.track == track;
        let begin = self.chunks[..end].iter().rposition(is_key).unwrap_or(end);
        self.chunks[begin..end].iter().filter(of_track)
    }
}

fn read_header(file: &[u8]) -> Result<(Header, usize), RecordingError> {
    let mut bytes = Bytes(file);
    if bytes.take(8) != Some(&MAGIC[..]) {
        return Err(RecordingError::NotARecording);
    }
    let version = bytes.u16().ok_or(RecordingError::Header)?;
    if version != VERSION {
        return Err(RecordingError::Version(version));
    }
    let length = bytes.u32().ok_or(RecordingError::Header)? as usize;
    if length > MAX_HEADER_BYTES {
        return Err(RecordingError::Header);
    }
    let body = bytes.take(length).ok_or(RecordingError::Header)?;
    let end = file.len() - bytes.0.len();
    let header = parse_header(body, &file[..end]);
    Ok((header.ok_or(RecordingError::Header)?, end))
}

fn parse_header(body: &[u8], all: &[u8]) -> Option<Header> {
    let (checked, crc) = all.split_at_checked(all.len().checked_sub(4)?)?;
    if checksum([checked, &[]]).to_le_bytes() != crc {
        return None;
    }
    let mut bytes = Bytes(body);
    let mut header = Header {
        start: bytes.u64()?,
        title: bytes.text()?,
        about: Vec::new(),
    };
    for _ in 0..bytes.u32()? {
        header.about.push((bytes.text()?, bytes.text()?));
    }
    (bytes.0.len() == 4).then_some(header)
}

struct Head {
    kind: u8,
    track: u16,
    time: u64,
}

/// The chunk at the beginning of these bytes, if it is whole and undamaged.
fn read_chunk(file: &[u8]) -> Option<(Head, &[u8])> {
    let mut bytes = Bytes(file);
    let head = Head {
        kind: bytes.u8()?,
        track: bytes.u16()?,
        time: bytes.u64()?,
    };
    let length = bytes.u32()? as usize;
    let crc = bytes.u32()?;
    if length > MAX_CHUNK_BYTES {
        return None;
    }
    let body = bytes.take(length)?;
    let sound = checksum([&file[..CHECKED_HEAD], body]) == crc;
    sound.then_some((head, body))
}
