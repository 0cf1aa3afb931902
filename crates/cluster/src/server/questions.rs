//! What others ask a region to do or tell.

use super::feed::FeedBuilder;
use crate::messages::{Account, Answer, Hit, Question};
use domain::{ContactEnd, Tick};
use region::{Region, RegionError};
use world::WorldError;

/// Does it, or tells it.
pub fn answer(region: &mut Region, feed: &mut FeedBuilder, question: Question) -> Answer {
    let tick = region.tick();
    let done = |here: bool| {
        if here {
            Answer::Done { tick }
        } else {
            Answer::NotHere
        }
    };
    match question {
        Question::Spawn(body) => match region.spawn(&body) {
            Ok(()) => Answer::Done { tick },
            Err(error) => Answer::Refused(error.to_string()),
        },
        Question::PutUp(scenery) => match region.put_up(&scenery) {
            Ok(()) => Answer::Done { tick },
            Err(error) => Answer::Refused(error.to_string()),
        },
        Question::Remove(body) => {
            let epoch = region.boundary().track(body).map(|track| track.epoch);
            let here = region.remove(body);
            if let Some(epoch) = epoch.filter(|_| here) {
                feed.removed(body, epoch);
            }
            done(here)
        }
        Question::Impulse { body, impulse, at } => {
            pushed(tick, region.apply_impulse(body, impulse, at))
        }
        Question::Velocity { body, velocity } => pushed(tick, region.set_velocity(body, velocity)),
        Question::Ray {
            origin,
            direction,
            reach,
        } => {
            if !(origin.is_finite() && direction.is_finite() && reach.is_finite()) {
                return Answer::Refused("not a number".to_owned());
            }
            let hit = region.world().cast_ray(origin, direction, reach);
            Answer::Hit(hit.map(|hit| Hit {
                end: hit.end,
                distance: hit.distance,
                point: hit.point,
                normal: hit.normal,
            }))
        }
        Question::Overlap {
            shape,
            position,
            rotation,
        } => {
            if !(position.is_finite() && rotation.is_normalized()) {
                return Answer::Refused("not a place".to_owned());
            }
            match region.world().overlap_shape(&shape, position, rotation) {
                Ok(ends) => Answer::Touching(ends.into_iter().filter_map(body_of).collect()),
                Err(error) => Answer::Refused(error.to_string()),
            }
        }
        Question::Account => Answer::Account(Box::new(account(region))),
    }
}

fn pushed(tick: Tick, pushed: Result<(), RegionError>) -> Answer {
    match pushed {
        Ok(()) => Answer::Done { tick },
        Err(RegionError::World(WorldError::UnknownBody(_))) => Answer::NotHere,
        Err(error) => Answer::Refused(error.to_string()),
    }
}

fn body_of(end: ContactEnd) -> Option<domain::BodyId> {
    match end {
        ContactEnd::Body(body) => Some(body),
        ContactEnd::Static(_) => None,
    }
}

fn account(region: &Region) -> Account {
    let boundary = region.boundary();
    let owned = region
        .world()
        .ids()
        .filter_map(|body| Some((body, boundary.track(body)?.epoch)));
    let offers = boundary.in_flight().map(|(_, offer)| offer);
    let offers = offers.chain(boundary.waiting().map(|arrival| &arrival.offer));
    let mut under_way: Vec<_> = boundary.announced().collect();
    for offer in offers {
        under_way.extend(offer.cluster.bodies.iter().map(|body| body.id));
        under_way.extend(offer.unborn.iter().map(|unborn| unborn.body.id));
    }
    under_way.sort_unstable();
    under_way.dedup();
    let settled = boundary
        .remote_auras()
        .filter(|(_, aura)| aura.provisional_until.is_none());
    let exceeded = boundary.exceeded();
    Account {
        tick: region.tick(),
        owned: owned.collect(),
        under_way,
        unborn: boundary.unborn() as u64,
        auras: settled
            .map(|(body, aura)| (body, aura.owner, aura.epoch))
            .collect(),
        due_to_project: region.due_to_project(),
        exceeded: [exceeded.speed, exceeded.latency, exceeded.frame],
        kept: boundary.kept(),
        largest_cluster: boundary.largest_cluster(),
        ..Account::default()
    }
}
