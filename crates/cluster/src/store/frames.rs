//! Length-prefixed messages on a stream, and the greeting by which both sides show that they know the cluster's key.

use crate::carrier::ClusterKey;
use rand::TryRng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest message: a listing of a whole control plane.
const MAX_BYTES: usize = 16 << 20;
const HELLO: &[u8; 8] = b"AMstore1";

pub async fn write<W: AsyncWrite + Unpin, T: Serialize>(
    out: &mut W,
    message: &T,
) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    if bytes.len() > MAX_BYTES {
        return Err(io::Error::other("a message is too long"));
    }
    out.write_all(&(bytes.len() as u32).to_le_bytes()).await?;
    out.write_all(&bytes).await?;
    out.flush().await
}

pub async fn read<R: AsyncRead + Unpin, T: DeserializeOwned>(input: &mut R) -> io::Result<T> {
    let length = input.read_u32_le().await? as usize;
    if length > MAX_BYTES {
        return Err(io::Error::other("a message is too long"));
    }
    // Grows with what really arrives: a stranger's large number costs no memory.
    let mut bytes = Vec::new();
    input.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

/// Each side sends a number nobody could foresee and gets back its digest under the key, for its role.
pub async fn greet<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    key: &ClusterKey,
    asks: bool,
) -> io::Result<()> {
    let mut mine = [0; 16];
    rand::rngs::SysRng
        .try_fill_bytes(&mut mine)
        .map_err(io::Error::other)?;
    stream.write_all(HELLO).await?;
    stream.write_all(&mine).await?;
    stream.flush().await?;
    let mut hello = [0; 8];
    let mut theirs = [0; 16];
    stream.read_exact(&mut hello).await?;
    stream.read_exact(&mut theirs).await?;
    if hello != *HELLO {
        return Err(io::Error::other("the other side is not a control plane's"));
    }
    let (client, server) = if asks { (mine, theirs) } else { (theirs, mine) };
    let proof = |role: u8| key.digest(&[&[role], &client[..], &server[..]].concat());
    stream.write_all(&proof(u8::from(asks))).await?;
    stream.flush().await?;
    let mut their_proof = [0; 16];
    stream.read_exact(&mut their_proof).await?;
    if their_proof != proof(u8::from(!asks)) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the other side has another cluster key",
        ));
    }
    Ok(())
}
