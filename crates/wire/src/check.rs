//! Does a message make sense? Asked by the sender before encoding and by the receiver after decoding, so that
//! nothing beyond this crate has to expect a NaN, a joint to nowhere or a tick whose successor overflows.

use crate::{AuraDelete, AuraUpsert, Bond, Envelope, Message, Offer, Visitor};
use domain::{Epoch, Rect, ShapeError, Tick};
use glam::{DVec3, Vec3};
use thiserror::Error;

mod clusters;

pub(crate) use clusters::{ascending, body};

/// The largest coordinate, metres (2⁴⁰, beyond Jupiter): the aura grid of 1/4096 m is exact up to here.
pub const MAX_COORDINATE_M: f64 = (1_u64 << 40) as f64;
/// The largest radius, reach or growth of an aura, metres.
pub const MAX_AURA_M: f32 = 1e6;
/// The largest tick, time or handover number: adding to it a few thousand times cannot overflow.
pub const MAX_NUMBER: u64 = 1 << 62;
/// The largest epoch, for the same reason.
pub const MAX_EPOCH: Epoch = Epoch(1 << 31);
/// The most messages in one envelope.
pub const MAX_MESSAGES: usize = 1 << 17;
/// The most regions one [`Message::Introduce`] or [`Offer`] may name.
pub const MAX_VISITORS: usize = 4096;
/// The most promises one body may have outstanding.
pub const MAX_BONDS: usize = 256;

/// A message that reads well but makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{place}: {problem}")]
pub struct Invalid {
    /// Where, as a path: `messages[3].cluster.bodies[17].motion.rotation`.
    pub place: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What makes no sense about a message.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Problem {
    /// A number is NaN, infinite or outside its limits.
    #[error("{value} is not between {min} and {max}")]
    OutOfRange {
        /// The number.
        value: f64,
        /// At least this.
        min: f64,
        /// At most this.
        max: f64,
    },
    /// A whole number that leaves no room to count on.
    #[error("{0} is too large a number")]
    TooLarge(u64),
    /// A vector with NaN or infinity in it.
    #[error("not finite")]
    NotFinite,
    /// A rotation or axis that is not of length one.
    #[error("of length {0}, not 1")]
    NotUnit(f32),
    /// A shape no moving body may have.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A list of the wrong length.
    #[error("{count} given, {wanted} wanted")]
    WrongCount {
        /// How many there are.
        count: usize,
        /// How many there should be (at most).
        wanted: usize,
    },
    /// Ids that are not strictly ascending, so that one may be there twice.
    #[error("ids must ascend and be unique")]
    NotAscending,
    /// A body that is not in the cluster.
    #[error("names {0}, which is not in the cluster")]
    NotAMember(domain::BodyId),
    /// A joint or contact of a thing with itself, or an envelope to its own sender.
    #[error("both ends are the same")]
    SameEnds,
    /// A contact that has no member of the cluster.
    #[error("no end is in the cluster")]
    NoMember,
    /// An offer of nothing.
    #[error("nothing is offered")]
    Empty,
    /// A handover number of zero; they count from one.
    #[error("handovers count from 1")]
    NoNumber,
}

impl Problem {
    pub(crate) fn at(self, place: &str) -> Invalid {
        let place = place.to_owned();
        Invalid {
            place,
            problem: self,
        }
    }
}

impl Invalid {
    pub(crate) fn within(mut self, outer: &str) -> Self {
        self.place = format!("{outer}.{}", self.place);
        self
    }

    fn within_item(self, list: &str, index: usize) -> Self {
        self.within(&format!("{list}[{index}]"))
    }
}

/// Checks each item of a list; an error names its index.
pub(crate) fn each<T>(
    list: &str,
    items: &[T],
    check: impl Fn(&T) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    for (index, item) in items.iter().enumerate() {
        check(item).map_err(|e| e.within_item(list, index))?;
    }
    Ok(())
}

impl Envelope {
    /// Is everything in it within its limits and in itself consistent?
    pub fn check(&self) -> Result<(), Invalid> {
        if self.from == self.to {
            return Err(Problem::SameEnds.at("to"));
        }
        tick("tick", self.tick)?;
        number("sent_at", self.sent_at.0)?;
        if self.messages.len() > MAX_MESSAGES {
            return Err(Problem::WrongCount {
                count: self.messages.len(),
                wanted: MAX_MESSAGES,
            }
            .at("messages"));
        }
        each("messages", &self.messages, Message::check)
    }
}

impl Message {
    /// Is it within its limits and in itself consistent?
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::AuraUpsert(upsert) => upsert.check(),
            Self::AuraDelete(delete) => delete.check(),
            Self::Offer(offer) => offer.check(),
            Self::Accept { handover } | Self::Release { handover } => handover_number(handover.0),
            Self::Introduce { visitors } => {
                few("visitors", visitors)?;
                each("visitors", visitors, Visitor::check)
            }
            Self::SnapshotCovers { tick: at, upto } => {
                tick("tick", *at)?;
                number("upto", upto.0)
            }
            Self::Restarted { snapshot, .. } => tick("snapshot", *snapshot),
            Self::Recovery { known } => {
                ascending("known", known.iter().map(|ownership| ownership.body))?;
                each("known", known, |ownership| epoch("epoch", ownership.epoch))
            }
        }
    }
}

impl Visitor {
    fn check(&self) -> Result<(), Invalid> {
        let Rect { min, max } = self.place;
        for (min, max) in min.into_iter().zip(max) {
            range("place", min, -MAX_COORDINATE_M, MAX_COORDINATE_M)?;
            range("place", max, min, MAX_COORDINATE_M)?;
        }
        Ok(())
    }
}

impl AuraUpsert {
    /// Is every number of it finite and within its limits?
    pub fn check(&self) -> Result<(), Invalid> {
        if self.is_clearly_sound() {
            return Ok(());
        }
        epoch("epoch", self.epoch)?;
        tick("tick", self.tick)?;
        tick("key.since", self.key.since)?;
        for value in self.centre.to_array() {
            range("centre", value, -MAX_COORDINATE_M, MAX_COORDINATE_M)?;
        }
        let most = f64::from(MAX_AURA_M);
        range("radius", self.radius.into(), 0.0, most)?;
        range("growth", self.growth.into(), 0.0, most)?;
        for value in self.spine.to_array() {
            range("spine", value.into(), -most, most)?;
        }
        range("reach", self.reach.into(), 0.0, most)?;
        if self.reach < MAX_AURA_M - 1.0 {
            return Ok(());
        }
        // The receiver asks the same of what it sees, which is rounded outwards.
        range("reach", self.rounded_outwards().reach.into(), 0.0, most)
    }
}

impl AuraUpsert {
    /// Well within all limits? Auras are most of what is said, and asking for the exact place of an error takes longer than
    /// asking whether there is one.
    fn is_clearly_sound(&self) -> bool {
        let numbers = self.tick.0 | self.key.since.0;
        let extents = Vec3::new(self.radius, self.growth, self.reach);
        (numbers < MAX_NUMBER)
            & (self.epoch <= MAX_EPOCH)
            & self
                .centre
                .abs()
                .cmple(DVec3::splat(MAX_COORDINATE_M))
                .all()
            & self.spine.abs().cmple(Vec3::splat(MAX_AURA_M)).all()
            & extents.cmpge(Vec3::ZERO).all()
            & extents.cmple(Vec3::splat(MAX_AURA_M - 1.0)).all()
    }
}

impl AuraDelete {
    /// Are its numbers within their limits?
    pub fn check(&self) -> Result<(), Invalid> {
        epoch("epoch", self.epoch)?;
        tick("tick", self.tick)?;
        self.moved_to
            .map_or(Ok(()), |new| tick("moved_to.key.since", new.key.since))
    }
}

impl Offer {
    /// Can it be carried out: ids ascend, ends of joints and contacts are members, every number is a number?
    pub fn check(&self) -> Result<(), Invalid> {
        handover_number(self.handover.0)?;
        tick("tick", self.tick)?;
        if self.cluster.bodies.is_empty() && self.unborn.is_empty() {
            return Err(Problem::Empty.at("cluster.bodies"));
        }
        if self.members.len() != self.cluster.bodies.len() {
            return Err(Problem::WrongCount {
                count: self.members.len(),
                wanted: self.cluster.bodies.len(),
            }
            .at("members"));
        }
        each("members", &self.members, |member| {
            epoch("epoch", member.epoch)?;
            member
                .projecting_since
                .map_or(Ok(()), |since| tick("projecting_since", since))?;
            member
                .rank
                .map_or(Ok(()), |rank| tick("rank.since", rank.since))
        })?;
        clusters::cluster(&self.cluster).map_err(|e| e.within("cluster"))?;
        ascending("unborn", self.unborn.iter().map(|unborn| unborn.body.id))?;
        each("unborn", &self.unborn, |unborn| {
            tick("since", unborn.since)?;
            epoch("epoch", unborn.epoch)?;
            body(&unborn.body).map_err(|e| e.within("body"))
        })?;
        few("told", &self.told)?;
        self.check_bonds()
    }

    fn check_bonds(&self) -> Result<(), Invalid> {
        let ids = || self.bonds.iter().map(|(body, _)| *body);
        if !ids().is_sorted() {
            return Err(Problem::NotAscending.at("bonds"));
        }
        let bodies = &self.cluster.bodies;
        for body in ids() {
            if bodies.binary_search_by_key(&body, |body| body.id).is_err() {
                return Err(Problem::NotAMember(body).at("bonds"));
            }
        }
        let per_body = self.bonds.chunk_by(|(a, _), (b, _)| a == b).map(<[_]>::len);
        if let Some(count) = per_body.max().filter(|count| *count > MAX_BONDS) {
            let wanted = MAX_BONDS;
            return Err(Problem::WrongCount { count, wanted }.at("bonds"));
        }
        each("bonds", &self.bonds, |(_, bond)| bond.check())
    }
}

impl Bond {
    /// Are its numbers within their limits?
    pub fn check(&self) -> Result<(), Invalid> {
        tick("tick", self.tick)?;
        self.until.map_or(Ok(()), |until| tick("until", until))?;
        for coordinate in self.centre.to_array() {
            range("centre", coordinate, -MAX_COORDINATE_M, MAX_COORDINATE_M)?;
        }
        let longest = f64::from(MAX_AURA_M);
        for value in self.spine.to_array() {
            range("spine", value.into(), -longest, longest)?;
        }
        range("reach", self.reach.into(), 0.0, longest)?;
        range("growth", self.growth.into(), 0.0, longest)
    }
}

fn few<T>(place: &str, items: &[T]) -> Result<(), Invalid> {
    if items.len() > MAX_VISITORS {
        return Err(Problem::WrongCount {
            count: items.len(),
            wanted: MAX_VISITORS,
        }
        .at(place));
    }
    Ok(())
}

fn number(place: &str, value: u64) -> Result<(), Invalid> {
    if value > MAX_NUMBER {
        return Err(Problem::TooLarge(value).at(place));
    }
    Ok(())
}

fn tick(place: &str, tick: Tick) -> Result<(), Invalid> {
    number(place, tick.0)
}

fn epoch(place: &str, epoch: Epoch) -> Result<(), Invalid> {
    if epoch > MAX_EPOCH {
        return Err(Problem::TooLarge(epoch.0.into()).at(place));
    }
    Ok(())
}

fn handover_number(value: u64) -> Result<(), Invalid> {
    if value == 0 {
        return Err(Problem::NoNumber.at("handover"));
    }
    number("handover", value)
}

/// A finite number between two limits; NaN is in no range.
pub(crate) fn range(place: &str, value: f64, min: f64, max: f64) -> Result<(), Invalid> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(Problem::OutOfRange { value, min, max }.at(place))
    }
}

pub(crate) fn finite(place: &str, vector: Vec3) -> Result<(), Invalid> {
    if vector.is_finite() {
        Ok(())
    } else {
        Err(Problem::NotFinite.at(place))
    }
}

/// How far from one the length of a rotation or an axis may be: far above what rounding does in a step, far
/// below what a body could be bent by.
const UNIT_TOLERANCE: f32 = 1e-3;

pub(crate) fn unit(place: &str, length: f32) -> Result<(), Invalid> {
    // Written so that NaN fails.
    if (length - 1.0).abs() <= UNIT_TOLERANCE {
        Ok(())
    } else {
        Err(Problem::NotUnit(length).at(place))
    }
}
