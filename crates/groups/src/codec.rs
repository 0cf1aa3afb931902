//! Messages to bytes and back.
//!
//! ```text
//!   version 1 │ tag 1 │ fields            varints unless said otherwise; lists begin with their length
//!
//!   state, full    client zigzag │ id │ stamp │ epoch │ count │ author │ position 3×f64 │ rotation 4×f32 │ velocity 3×f32 │ spin 3×f32
//!   state, light   client zigzag │ id │ stamp │ position 3×f32 │ rotation 3×f32 │ velocity 3×f32            for avatars
//! ```
//!
//! Whatever the bytes, reading them ends, does not panic, and allocates no more than they are long: a list's length is checked
//! against what is left before anything is set aside. States that no object can have are refused here, before anyone sees them.

use crate::codec_parts::{environment, population, read_environment, read_population};
use crate::{
    Address, Ballot, ClientId, GroupEpoch, GroupId, MAX_STATES, MachineId, Message, NodeId,
    ObjectKey, ObjectState, Version, VoteId, VoteKind,
};
use domain::SimTime;
use glam::{DVec3, Quat, Vec3};
use wire::bytes::{Malformed, Reader, Why, put_f32, put_f64, put_varint, put_zigzag};

/// The first byte of every message.
pub const VERSION: u8 = 2;
/// No message is longer. An allocation with 1024 members and 8192 objects fits.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// The most objects in an allocation or an environment.
pub const MAX_OBJECTS: usize = 8192;

pub(crate) type Read<T> = Result<T, Malformed>;

/// The bytes of a message.
pub fn encode(message: &Message) -> Vec<u8> {
    let mut out = vec![VERSION, tag(message)];
    put_body(&mut out, message);
    out
}

/// The message of some bytes, or what is wrong with them.
pub fn decode(bytes: &[u8]) -> Read<Message> {
    let mut reader = Reader::new(bytes);
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(reader.error("message", Why::TooMany(bytes.len() as u64)));
    }
    let version = reader.u8("version")?;
    if version != VERSION {
        return Err(reader.error("version", Why::UnknownTag(version)));
    }
    let tag = reader.u8("kind of message")?;
    let message = read_body(&mut reader, tag)?;
    reader.finish("message")?;
    Ok(message)
}

fn tag(message: &Message) -> u8 {
    match message {
        Message::Join { .. } => 0,
        Message::Leave => 1,
        Message::Alive => 2,
        Message::Candidates { .. } => 3,
        Message::VoteRequest { .. } => 4,
        Message::VoteCast { .. } => 5,
        Message::Started { .. } => 6,
        Message::Welcome { .. } => 7,
        Message::Populate(_) => 8,
        Message::AskCandidates { .. } => 9,
        Message::Allocate { .. } => 10,
        Message::VoteCall { .. } => 11,
        Message::Unknown => 12,
        Message::Exit => 13,
        Message::Ready { .. } => 14,
        Message::Start { .. } => 15,
        Message::Results { .. } => 16,
        Message::Dispatch { .. } => 17,
        Message::NodeUpdate { .. } => 18,
        Message::Correction { .. } => 19,
        Message::Replicate { .. } => 20,
        Message::Transfer { .. } => 21,
        Message::Ping { .. } => 22,
        Message::Pong { .. } => 23,
        Message::ClientJoin { .. } => 24,
        Message::ClientHome { .. } => 25,
        Message::AvatarUpdate { .. } => 26,
        Message::AvatarResult { .. } => 27,
        Message::Agreement { .. } => 28,
    }
}

fn put_body(out: &mut Vec<u8>, message: &Message) {
    match message {
        Message::Leave | Message::Alive | Message::Unknown | Message::Exit => {}
        Message::Join { machine } => put_varint(out, machine.0),
        Message::Candidates { round, delays } => {
            put_varint(out, *round);
            put_varint(out, delays.len() as u64);
            for (node, delay) in delays {
                put_varint(out, node.0.into());
                put_f32(out, *delay);
            }
        }
        Message::VoteRequest { kind, about } => {
            out.push(u8::from(*kind == VoteKind::Rejection));
            put_varint(out, about.0.into());
        }
        Message::VoteCast { vote, ballot } => {
            put_varint(out, vote.0);
            out.push(match ballot {
                Ballot::For => 0,
                Ballot::Abstain => 1,
                Ballot::Against => 2,
            });
        }
        Message::Welcome {
            node,
            environment: world,
        } => {
            put_varint(out, node.0.into());
            environment(out, world);
        }
        Message::Populate(parties) => population(out, parties),
        Message::AskCandidates { round } => put_varint(out, *round),
        Message::Allocate {
            epoch,
            group,
            members,
            objects,
        } => {
            put_varint(out, epoch.0);
            put_varint(out, group.0.into());
            put_varint(out, members.len() as u64);
            members
                .iter()
                .for_each(|node| put_varint(out, node.0.into()));
            put_states(out, objects);
        }
        Message::VoteCall { vote, kind, about } => {
            put_varint(out, vote.0);
            out.push(u8::from(*kind == VoteKind::Rejection));
            put_varint(out, about.0.into());
        }
        Message::Started { epoch } | Message::Ready { epoch } | Message::Start { epoch } => {
            put_varint(out, epoch.0)
        }
        Message::Results {
            epoch,
            iteration,
            states,
        } => {
            put_varint(out, epoch.0);
            put_varint(out, *iteration);
            put_states(out, states);
        }
        Message::Dispatch {
            epoch,
            iteration,
            states,
        } => {
            put_varint(out, epoch.0);
            put_varint(out, *iteration);
            put_varint(out, states.len() as u64);
            for (state, responsible) in states {
                put_light(out, state);
                out.push(u8::from(*responsible));
            }
        }
        Message::NodeUpdate { epoch, states }
        | Message::Correction { epoch, states }
        | Message::Replicate { epoch, states } => {
            put_varint(out, epoch.0);
            put_states(out, states);
        }
        Message::Transfer {
            epoch,
            hand_off,
            states,
        } => {
            put_varint(out, epoch.0);
            out.push(u8::from(*hand_off));
            put_states(out, states);
        }
        Message::Ping { nonce } | Message::Pong { nonce } => put_varint(out, *nonce),
        Message::ClientJoin { machine, avatars } => {
            put_varint(out, machine.0);
            crate::codec_parts::infos(out, avatars);
        }
        Message::ClientHome {
            client,
            home,
            machine,
        } => {
            put_varint(out, client.0.into());
            put_varint(out, home.0);
            put_varint(out, machine.0);
        }
        Message::AvatarUpdate { states } | Message::AvatarResult { states } => {
            put_varint(out, states.len() as u64);
            states.iter().for_each(|state| put_light(out, state));
        }
        Message::Agreement { group, bytes } => {
            put_varint(out, group.0.into());
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
}

fn read_body(r: &mut Reader<'_>, tag: u8) -> Read<Message> {
    Ok(match tag {
        0 => Message::Join {
            machine: MachineId(r.varint("machine")?),
        },
        1 => Message::Leave,
        2 => Message::Alive,
        3 => Message::Candidates {
            round: r.varint("round")?,
            delays: delays(r)?,
        },
        4 => Message::VoteRequest {
            kind: vote_kind(r)?,
            about: node(r)?,
        },
        5 => Message::VoteCast {
            vote: VoteId(r.varint("vote")?),
            ballot: ballot(r)?,
        },
        6 => Message::Started { epoch: epoch(r)? },
        7 => Message::Welcome {
            node: node(r)?,
            environment: read_environment(r)?,
        },
        8 => Message::Populate(read_population(r)?),
        9 => Message::AskCandidates {
            round: r.varint("round")?,
        },
        10 => Message::Allocate {
            epoch: epoch(r)?,
            group: GroupId(r.varint_u32("group")?),
            members: list(r, "members", 1, crate::MAX_PARTIES, node)?,
            objects: list(r, "objects", MIN_FULL, MAX_OBJECTS, full)?,
        },
        11 => Message::VoteCall {
            vote: VoteId(r.varint("vote")?),
            kind: vote_kind(r)?,
            about: node(r)?,
        },
        12 => Message::Unknown,
        13 => Message::Exit,
        14 => Message::Ready { epoch: epoch(r)? },
        15 => Message::Start { epoch: epoch(r)? },
        16 => Message::Results {
            epoch: epoch(r)?,
            iteration: r.varint("iteration")?,
            states: states(r)?,
        },
        17 => Message::Dispatch {
            epoch: epoch(r)?,
            iteration: r.varint("iteration")?,
            states: list(r, "states", MIN_LIGHT + 1, MAX_STATES, |r| {
                Ok((light(r)?, r.bool("responsible")?))
            })?,
        },
        18 => Message::NodeUpdate {
            epoch: epoch(r)?,
            states: states(r)?,
        },
        19 => Message::Correction {
            epoch: epoch(r)?,
            states: states(r)?,
        },
        20 => Message::Replicate {
            epoch: epoch(r)?,
            states: states(r)?,
        },
        21 => Message::Transfer {
            epoch: epoch(r)?,
            hand_off: r.bool("hand-off")?,
            states: states(r)?,
        },
        22 => Message::Ping {
            nonce: r.varint("nonce")?,
        },
        23 => Message::Pong {
            nonce: r.varint("nonce")?,
        },
        24 => Message::ClientJoin {
            machine: MachineId(r.varint("machine")?),
            avatars: crate::codec_parts::read_infos(r, crate::MAX_AVATARS)?,
        },
        25 => Message::ClientHome {
            client: ClientId(r.varint_u32("client")?),
            home: Address(r.varint("home")?),
            machine: MachineId(r.varint("machine")?),
        },
        26 => Message::AvatarUpdate {
            states: list(r, "states", MIN_LIGHT, MAX_STATES, light)?,
        },
        27 => Message::AvatarResult {
            states: list(r, "states", MIN_LIGHT, MAX_STATES, light)?,
        },
        28 => Message::Agreement {
            group: GroupId(r.varint_u32("group")?),
            bytes: list(r, "bytes", 1, crate::MAX_AGREEMENT_BYTES, |r| r.u8("byte"))?,
        },
        other => return Err(r.error("kind of message", Why::UnknownTag(other))),
    })
}

/// A list: its length is checked before anything is allocated.
pub(crate) fn list<T>(
    r: &mut Reader<'_>,
    what: &'static str,
    min_bytes: usize,
    most: usize,
    mut read: impl FnMut(&mut Reader<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let count = r.count(what, min_bytes)?;
    if count > most {
        return Err(r.error(what, Why::TooMany(count as u64)));
    }
    (0..count).map(|_| read(r)).collect()
}

pub(crate) fn node(r: &mut Reader<'_>) -> Read<NodeId> {
    Ok(NodeId(r.varint_u32("node")?))
}

fn epoch(r: &mut Reader<'_>) -> Read<GroupEpoch> {
    Ok(GroupEpoch(r.varint("epoch")?))
}

fn vote_kind(r: &mut Reader<'_>) -> Read<VoteKind> {
    Ok(if r.bool("kind of vote")? {
        VoteKind::Rejection
    } else {
        VoteKind::Inclusion
    })
}

fn ballot(r: &mut Reader<'_>) -> Read<Ballot> {
    match r.u8("ballot")? {
        0 => Ok(Ballot::For),
        1 => Ok(Ballot::Abstain),
        2 => Ok(Ballot::Against),
        other => Err(r.error("ballot", Why::UnknownTag(other))),
    }
}

/// Delays may be anything: whoever gets them judges them.
fn delays(r: &mut Reader<'_>) -> Read<Vec<(NodeId, f32)>> {
    list(r, "delays", 5, crate::MAX_PARTIES, |r| {
        Ok((node(r)?, r.f32("delay")?))
    })
}

/// The fewest bytes of a state.
const MIN_FULL: usize = 6 + 24 + 16 + 24;
const MIN_LIGHT: usize = 3 + 36;

fn put_states(out: &mut Vec<u8>, states: &[ObjectState]) {
    put_varint(out, states.len() as u64);
    states.iter().for_each(|state| put_full(out, state));
}

fn states(r: &mut Reader<'_>) -> Read<Vec<ObjectState>> {
    list(r, "states", MIN_FULL, MAX_STATES, full)
}

fn put_name(out: &mut Vec<u8>, state: &ObjectState) {
    put_zigzag(out, state.key.client.into());
    put_varint(out, state.key.id);
    put_varint(out, state.stamp.0);
}

pub(crate) fn key(r: &mut Reader<'_>) -> Read<ObjectKey> {
    let client = r.zigzag("client of an object")?;
    match i32::try_from(client) {
        Ok(client) if client >= -1 => Ok(ObjectKey {
            client,
            id: r.varint("object")?,
        }),
        _ => Err(r.error("client of an object", Why::TooLarge(client.unsigned_abs()))),
    }
}

fn put_full(out: &mut Vec<u8>, state: &ObjectState) {
    put_name(out, state);
    put_varint(out, state.version.epoch.0);
    put_varint(out, state.version.count);
    put_varint(out, state.version.author.0.into());
    state
        .position
        .to_array()
        .iter()
        .for_each(|v| put_f64(out, *v));
    state
        .rotation
        .to_array()
        .iter()
        .for_each(|v| put_f32(out, *v));
    put_vec3(out, state.velocity);
    put_vec3(out, state.spin);
}

fn full(r: &mut Reader<'_>) -> Read<ObjectState> {
    let (key, stamp) = (key(r)?, SimTime(r.varint("stamp")?));
    let version = Version {
        epoch: epoch(r)?,
        count: r.varint("count")?,
        author: node(r)?,
    };
    let position = DVec3::new(r.f64("position")?, r.f64("position")?, r.f64("position")?);
    let rotation = Quat::from_xyzw(
        r.f32("rotation")?,
        r.f32("rotation")?,
        r.f32("rotation")?,
        r.f32("rotation")?,
    );
    let (velocity, spin) = (vec3(r, "velocity")?, vec3(r, "spin")?);
    sane(
        r,
        ObjectState {
            key,
            stamp,
            version,
            position,
            rotation,
            velocity,
            spin,
        },
    )
}

/// What avatars need: no version (their client's time orders them), no spin, positions in f32 (1 mm at 8 km).
fn put_light(out: &mut Vec<u8>, state: &ObjectState) {
    put_name(out, state);
    put_vec3(out, state.position.as_vec3());
    // Of the two quaternions of an orientation, the one whose w is not negative.
    let q = if state.rotation.w < 0.0 {
        -state.rotation
    } else {
        state.rotation
    };
    put_vec3(out, Vec3::new(q.x, q.y, q.z));
    put_vec3(out, state.velocity);
}

fn light(r: &mut Reader<'_>) -> Read<ObjectState> {
    let (key, stamp) = (key(r)?, SimTime(r.varint("stamp")?));
    let position = vec3(r, "position")?.as_dvec3();
    let q = vec3(r, "rotation")?;
    let w = (1.0 - q.length_squared()).max(0.0).sqrt();
    let (rotation, velocity) = (Quat::from_xyzw(q.x, q.y, q.z, w), vec3(r, "velocity")?);
    let spin = Vec3::ZERO;
    sane(
        r,
        ObjectState {
            key,
            stamp,
            version: Version::default(),
            position,
            rotation,
            velocity,
            spin,
        },
    )
}

fn sane(r: &Reader<'_>, state: ObjectState) -> Read<ObjectState> {
    match state.is_sane() {
        true => Ok(state),
        false => Err(r.error("state", Why::Misplaced)),
    }
}

pub(crate) fn put_vec3(out: &mut Vec<u8>, v: Vec3) {
    v.to_array().iter().for_each(|v| put_f32(out, *v));
}

pub(crate) fn vec3(r: &mut Reader<'_>, what: &'static str) -> Read<Vec3> {
    Ok(Vec3::new(r.f32(what)?, r.f32(what)?, r.f32(what)?))
}
