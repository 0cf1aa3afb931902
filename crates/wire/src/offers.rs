//! Offers: who is handed over, why, and with what.

use crate::bytes::{Malformed, Reader, Why, put_varint};
use crate::clusters::{
    BODY_MIN_BYTES, BodyReader, BodyWriter, read_cluster, read_list, write_cluster,
};
use crate::{HandoverCause, HandoverNumber, Member, Offer, Unborn};
use domain::{BodyId, Epoch, RegionId, Tick};

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
}

pub(crate) fn read_offer(reader: &mut Reader<'_>) -> Result<Offer, Malformed> {
    let mut bodies = BodyReader::default();
    Ok(Offer {
        handover: read_handover(reader)?,
        tick: Tick(reader.varint("offer tick")?),
        cause: read_cause(reader)?,
        members: read_list(reader, "members", 2, read_member)?,
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
    })
}
