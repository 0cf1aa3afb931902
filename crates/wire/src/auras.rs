//! Auras in few bytes: most of what regions say to each other is hundreds of [`AuraUpsert`]s per tick.
//!
//! A run of upserts is written as differences from one to the next. In id order neighbours in the list are
//! mostly alike: same tick, same epoch, same radius, close by. One byte of flags says what changed:
//!
//! ```text
//! flags │ id − previous id │ what the flags say changed │ centre − previous centre, x y z, in 1/4096 m
//! 1     │ 1                │ 0 .. ~12                   │ 3 × 2..3                              bytes
//! ```
//!
//! The aura is rounded *outwards*: its centre goes to a grid of 1/4096 m, and the reach, in steps of 1/1024 m,
//! grows by at least as much as the centre moved. The receiver's sphere always holds the sender's, so no
//! contact is missed for the bytes saved; it is at most 1.3 mm larger. Rounding twice changes nothing more.

use crate::bytes::{Malformed, Reader, Why, put_f32, put_varint, put_zigzag};
use crate::check::MAX_COORDINATE_M;
use crate::{AuraUpsert, ClusterKey};
use domain::{BodyId, Epoch, Tick};
use glam::{DVec3, I64Vec3};

const CENTRE_STEPS_PER_M: f64 = 4096.0;
const REACH_STEPS_PER_M: f64 = 1024.0;
const GROWTH_STEPS_PER_M: f64 = 16_384.0;
const SPINE_STEPS_PER_M: f64 = 256.0;
/// Longer lines than an aura may be wide make no sense.
const SPINE_STEPS_MAX: u64 = (crate::check::MAX_AURA_M as f64 * SPINE_STEPS_PER_M) as u64;
const CENTRE_STEPS_MAX: i64 = (MAX_COORDINATE_M * CENTRE_STEPS_PER_M) as i64;

/// The fewest bytes an upsert needs: flags, id, three coordinates.
pub(crate) const MIN_BYTES: usize = 5;

const TICK: u8 = 1;
const KEY_BODY: u8 = 2;
const KEY_SINCE: u8 = 4;
const RADIUS: u8 = 8;
const REACH: u8 = 16;
const GROWTH: u8 = 32;
const EPOCH: u8 = 64;
const SPINE: u8 = 128;

/// An aura on the grid.
#[derive(Clone, Copy, PartialEq)]
struct Row {
    body: BodyId,
    epoch: Epoch,
    tick: Tick,
    centre: I64Vec3,
    radius_bits: u32,
    spine: I64Vec3,
    reach: u64,
    growth: u64,
    key: ClusterKey,
}

impl Row {
    /// What the first upsert of a run is compared with.
    fn before_first(envelope_tick: Tick) -> Self {
        Self {
            body: BodyId(0),
            epoch: Epoch(0),
            tick: envelope_tick,
            centre: I64Vec3::ZERO,
            radius_bits: 0,
            spine: I64Vec3::ZERO,
            reach: 0,
            growth: 0,
            key: ClusterKey {
                class: 0,
                since: envelope_tick,
                body: BodyId(0),
            },
        }
    }

    fn of(upsert: &AuraUpsert) -> Self {
        let centre = I64Vec3::from_array(upsert.centre.to_array().map(nearest_step));
        let moved = (metres(centre) - upsert.centre).length();
        let line = upsert.spine.as_dvec3();
        let spine = I64Vec3::from_array((line * SPINE_STEPS_PER_M).to_array().map(nearest_whole));
        let turned = (spine.as_dvec3() / SPINE_STEPS_PER_M - line).length();
        // The margin covers the rounding of `length` itself; what is on the grid adds nothing.
        let reach = f64::from(upsert.reach) + (moved + turned) * (1.0 + 1e-9);
        Self {
            body: upsert.body,
            epoch: upsert.epoch,
            tick: upsert.tick,
            centre,
            radius_bits: upsert.radius.to_bits(),
            spine,
            reach: steps_up(reach, REACH_STEPS_PER_M),
            growth: steps_up(upsert.growth.into(), GROWTH_STEPS_PER_M),
            key: upsert.key,
        }
    }

    fn upsert(&self) -> AuraUpsert {
        AuraUpsert {
            body: self.body,
            epoch: self.epoch,
            tick: self.tick,
            centre: metres(self.centre),
            radius: f32::from_bits(self.radius_bits),
            spine: (self.spine.as_dvec3() / SPINE_STEPS_PER_M).as_vec3(),
            reach: at_least(self.reach as f64 / REACH_STEPS_PER_M),
            growth: at_least(self.growth as f64 / GROWTH_STEPS_PER_M),
            key: self.key,
        }
    }

    fn write(&self, previous: &Self, envelope_tick: Tick, out: &mut Vec<u8>) {
        let at = out.len();
        out.push(0);
        put_zigzag(out, difference(self.body.0, previous.body.0));
        let mut flags = 0;
        if self.tick != envelope_tick {
            flags |= TICK;
            put_zigzag(out, difference(self.tick.0, envelope_tick.0));
        }
        if self.key.body != self.body {
            flags |= KEY_BODY;
            put_zigzag(out, difference(self.key.body.0, self.body.0));
        }
        let age = |key: &ClusterKey| (key.since, key.class);
        if age(&self.key) != age(&previous.key) {
            flags |= KEY_SINCE;
            put_zigzag(out, difference(self.key.since.0, previous.key.since.0));
            put_varint(out, self.key.class.into());
        }
        if self.radius_bits != previous.radius_bits {
            flags |= RADIUS;
            put_f32(out, f32::from_bits(self.radius_bits));
        }
        if self.reach != previous.reach {
            flags |= REACH;
            put_varint(out, self.reach);
        }
        if self.growth != previous.growth {
            flags |= GROWTH;
            put_varint(out, self.growth);
        }
        if self.epoch != previous.epoch {
            flags |= EPOCH;
            put_varint(out, self.epoch.0.into());
        }
        if self.spine != previous.spine {
            flags |= SPINE;
            for step in self.spine.to_array() {
                put_zigzag(out, step);
            }
        }
        for step in (self.centre - previous.centre).to_array() {
            put_zigzag(out, step);
        }
        out[at] = flags;
    }

    fn read(
        reader: &mut Reader<'_>,
        previous: &Self,
        envelope_tick: Tick,
    ) -> Result<Self, Malformed> {
        let flags = reader.u8("aura flags")?;
        let has = |flag| flags & flag != 0;
        let mut row = *previous;
        row.body = BodyId(plus(previous.body.0, reader.zigzag("aura body")?));
        row.tick = envelope_tick;
        row.key.body = row.body;
        if has(TICK) {
            row.tick = Tick(plus(envelope_tick.0, reader.zigzag("aura tick")?));
        }
        if has(KEY_BODY) {
            row.key.body = BodyId(plus(row.body.0, reader.zigzag("aura key body")?));
        }
        if has(KEY_SINCE) {
            row.key.since = Tick(plus(previous.key.since.0, reader.zigzag("aura key tick")?));
            row.key.class = reader.varint_u16("aura key class")?;
        }
        if has(RADIUS) {
            row.radius_bits = reader.f32("aura radius")?.to_bits();
        }
        if has(REACH) {
            row.reach = reader.varint("aura reach")?;
        }
        if has(GROWTH) {
            row.growth = reader.varint("aura growth")?;
        }
        if has(EPOCH) {
            row.epoch = Epoch(reader.varint_u32("aura epoch")?);
        }
        if has(SPINE) {
            row.spine = read_spine(reader)?;
        }
        row.centre = read_centre(reader, previous.centre)?;
        Ok(row)
    }
}

fn read_spine(reader: &mut Reader<'_>) -> Result<I64Vec3, Malformed> {
    let mut spine = [0; 3];
    for axis in &mut spine {
        let outside = reader.error("aura spine", Why::TooLarge(0));
        let step = reader.zigzag("aura spine")?;
        if step.unsigned_abs() > SPINE_STEPS_MAX {
            let why = Why::TooLarge(step.unsigned_abs());
            return Err(Malformed { why, ..outside });
        }
        *axis = step;
    }
    Ok(I64Vec3::from_array(spine))
}

fn read_centre(reader: &mut Reader<'_>, previous: I64Vec3) -> Result<I64Vec3, Malformed> {
    let mut centre = previous.to_array();
    for axis in &mut centre {
        let outside = reader.error("aura centre", Why::TooLarge(0));
        let step = reader.zigzag("aura centre")?;
        *axis = axis
            .checked_add(step)
            .filter(|v| v.unsigned_abs() <= CENTRE_STEPS_MAX as u64)
            .ok_or(Malformed {
                why: Why::TooLarge(step.unsigned_abs()),
                ..outside
            })?;
    }
    Ok(I64Vec3::from_array(centre))
}

fn difference(value: u64, base: u64) -> i64 {
    value.wrapping_sub(base) as i64
}

fn plus(base: u64, step: i64) -> u64 {
    base.wrapping_add(step as u64)
}

/// `round` and `ceil` are library calls on plain x86-64; a cast is one instruction, and these run for every
/// aura of every tick. Halves may go either way: the reach makes up for what the centre moved.
fn nearest_step(coordinate: f64) -> i64 {
    nearest_whole(coordinate * CENTRE_STEPS_PER_M)
}

fn nearest_whole(steps: f64) -> i64 {
    (steps + 0.5_f64.copysign(steps)) as i64
}

/// The fewest steps that are not less than a length of zero or more, and that an `f32` can say.
fn steps_up(length: f64, steps_per_m: f64) -> u64 {
    let steps = length * steps_per_m;
    let whole = steps as i64;
    let up = whole + i64::from((whole as f64) < steps);
    if up < 1 << 24 {
        return up as u64;
    }
    (f64::from(at_least(up as f64 / steps_per_m)) * steps_per_m) as u64
}

fn metres(centre: I64Vec3) -> DVec3 {
    centre.as_dvec3() / CENTRE_STEPS_PER_M
}

/// The smallest `f32` that is not below the value.
fn at_least(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value {
        near.next_up()
    } else {
        near
    }
}

impl AuraUpsert {
    /// The upsert as its receiver will see it: on the grid, and holding this one. Asked twice, it changes nothing more.
    #[must_use]
    pub fn rounded_outwards(&self) -> Self {
        Row::of(self).upsert()
    }
}

/// Appends upserts (checked ones) as differences from one to the next.
pub(crate) fn write_run<'a>(
    out: &mut Vec<u8>,
    envelope_tick: Tick,
    upserts: impl Iterator<Item = &'a AuraUpsert>,
) {
    let mut previous = Row::before_first(envelope_tick);
    for upsert in upserts {
        let row = Row::of(upsert);
        row.write(&previous, envelope_tick, out);
        previous = row;
    }
}

/// Reads `count` upserts.
pub(crate) fn read_run(
    reader: &mut Reader<'_>,
    envelope_tick: Tick,
    count: usize,
    mut take: impl FnMut(AuraUpsert),
) -> Result<(), Malformed> {
    let mut previous = Row::before_first(envelope_tick);
    for _ in 0..count {
        previous = Row::read(reader, &previous, envelope_tick)?;
        take(previous.upsert());
    }
    Ok(())
}
