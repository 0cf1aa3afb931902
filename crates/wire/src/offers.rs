//! Offers: who is handed over, why, and with what.

use crate::bytes::{Malformed, Reader, Why, put_f32, put_f64, put_varint, put_zigzag};
use crate::clusters::{
    BODY_MIN_BYTES, BodyReader, BodyWriter, read_cluster, read_list, write_cluster,
};
use crate::{Bond, ClusterKey, HandoverCause, HandoverNumber, Member, Offer, Unborn};
use domain::{BodyId, Epoch, RegionId, Tick};
use glam::{DVec3, Vec3};

/// Body, tick, centre, spine, reach, growth, end.
const BOND_MIN_BYTES: usize = 1 + 1 + 24 + 12 + 4 + 4 + 1;

pub(crate) fn put_tagged(out: &mut Vec<u8>, tag: u8, number: u64) {
    out.push(tag);
    put_varint(out, number);
}

pub(crate) fn read_handover(reader: &mut Reader<'_>) -> Result<HandoverNumber, Malformed> {
    Ok(HandoverNumber(reader.varint("handover")?))
}

pub(crate) fn write_offer(out: &mut Vec<u8>, offer: &Offer) {
    put_varint(out, offer.handover.0);
    put_varint(out, offer.tick.0);
    match offer.cause {
        HandoverCause::AuraCollision { member, aura } => {
            put_tagged(out, 0, member.0);
            put_varint(out, aura.0);
        }
        HandoverCause::BoundaryTraversal => out.push(1),
        HandoverCause::CentreCrossed => out.push(2),
    }
    put_varint(out, offer.members.len() as u64);
    for member in &offer.members {
        put_varint(out, member.epoch.0.into());
        // Ticks stay below 2⁶²: one more always fits.
        put_varint(out, member.projecting_since.map_or(0, |since| since.0 + 1));
        write_rank(out, member.rank);
    }
    write_cluster(out, &offer.cluster);
    put_varint(out, offer.unborn.len() as u64);
    let mut bodies = BodyWriter::default();
    for unborn in &offer.unborn {
        put_varint(out, unborn.since.0);
        put_varint(out, unborn.epoch.0.into());
        bodies.write(out, &unborn.body);
    }
    put_varint(out, offer.told.len() as u64);
    for region in &offer.told {
        put_varint(out, region.0.into());
    }
    put_varint(out, offer.bonds.len() as u64);
    for (body, bond) in &offer.bonds {
        write_bond(out, *body, bond, offer.tick);
    }
}

/// Zero is "none", so that a class's number is one more than itself.
fn write_rank(out: &mut Vec<u8>, rank: Option<ClusterKey>) {
    let Some(ClusterKey { class, since, body }) = rank else {
        out.push(0);
        return;
    };
    put_varint(out, u64::from(class) + 1);
    put_varint(out, since.0);
    put_varint(out, body.0);
}

fn read_rank(reader: &mut Reader<'_>) -> Result<Option<ClusterKey>, Malformed> {
    let wrong = reader.error("rank", Why::Misplaced);
    let Some(class) = reader.varint("rank")?.checked_sub(1) else {
        return Ok(None);
    };
    let Ok(class) = u16::try_from(class) else {
        let why = Why::TooLarge(class);
        return Err(Malformed { why, ..wrong });
    };
    Ok(Some(ClusterKey {
        class,
        since: Tick(reader.varint("rank since")?),
        body: BodyId(reader.varint("rank body")?),
    }))
}

/// Ticks are differences from the offer's.
fn write_bond(out: &mut Vec<u8>, body: BodyId, bond: &Bond, offer_tick: Tick) {
    let Bond {
        tick,
        centre,
        spine,
        reach,
        growth,
        until,
    } = *bond;
    put_varint(out, body.0);
    put_zigzag(out, tick.0.wrapping_sub(offer_tick.0) as i64);
    for coordinate in centre.to_array() {
        put_f64(out, coordinate);
    }
    for value in [spine.x, spine.y, spine.z, reach, growth] {
        put_f32(out, value);
    }
    put_varint(out, until.map_or(0, |until| until.0 + 1));
}

fn read_bond(reader: &mut Reader<'_>, offer_tick: Tick) -> Result<(BodyId, Bond), Malformed> {
    let body = BodyId(reader.varint("bond's body")?);
    let tick = Tick(
        offer_tick
            .0
            .wrapping_add(reader.zigzag("bond's tick")? as u64),
    );
    let mut coordinate = || reader.f64("bond's centre");
    let centre = DVec3::new(coordinate()?, coordinate()?, coordinate()?);
    let mut line = || reader.f32("bond's spine");
    let spine = Vec3::new(line()?, line()?, line()?);
    let bond = Bond {
        tick,
        centre,
        spine,
        reach: reader.f32("bond's reach")?,
        growth: reader.f32("bond's growth")?,
        until: reader.varint("bond's end")?.checked_sub(1).map(Tick),
    };
    Ok((body, bond))
}

pub(crate) fn read_offer(reader: &mut Reader<'_>) -> Result<Offer, Malformed> {
    let mut bodies = BodyReader::default();
    let handover = read_handover(reader)?;
    let tick = Tick(reader.varint("offer tick")?);
    Ok(Offer {
        handover,
        tick,
        cause: read_cause(reader)?,
        members: read_list(reader, "members", 3, read_member)?,
        cluster: read_cluster(reader)?,
        unborn: read_list(reader, "unborn", 2 + BODY_MIN_BYTES, |r| {
            let since = Tick(r.varint("unborn since")?);
            let epoch = Epoch(r.varint_u32("unborn epoch")?);
            let body = bodies.read(r)?;
            Ok(Unborn { body, since, epoch })
        })?,
        told: read_list(reader, "told regions", 1, |r| {
            Ok(RegionId(r.varint_u32("told region")?))
        })?,
        bonds: read_list(reader, "bonds", BOND_MIN_BYTES, |r| read_bond(r, tick))?,
    })
}

fn read_cause(reader: &mut Reader<'_>) -> Result<HandoverCause, Malformed> {
    let unknown = reader.error("cause", Why::Misplaced);
    Ok(match reader.u8("cause")? {
        0 => HandoverCause::AuraCollision {
            member: BodyId(reader.varint("colliding member")?),
            aura: BodyId(reader.varint("aura's body")?),
        },
        1 => HandoverCause::BoundaryTraversal,
        2 => HandoverCause::CentreCrossed,
        tag => {
            return Err(Malformed {
                why: Why::UnknownTag(tag),
                ..unknown
            });
        }
    })
}

fn read_member(reader: &mut Reader<'_>) -> Result<Member, Malformed> {
    Ok(Member {
        epoch: Epoch(reader.varint_u32("member epoch")?),
        projecting_since: reader.varint("projecting since")?.checked_sub(1).map(Tick),
        rank: read_rank(reader)?,
    })
}
