//! A dead-reckoning vector on the wire.
//!
//! ```text
//! entity elastic │ seq elastic │ kind u2 │ timed flag │ [base − time, µs, signed] │ has status flag │ [status u16]
//! position 3 × signed, 1/1024 m │ rotation: which component is left out u2, the other three 3 × i14
//! moving kinds:   velocity 3 × signed, 1/1024 m/s │ spins flag │ [spin 3 × signed, 1/1024 rad/s]
//! ballistic only: acceleration 3 × signed, 1/1024 m/s²
//! ```
//!
//! kind: 0 at rest, 1 linear, 2 circular, 3 ballistic. The rotation's left-out component is the largest and made positive
//! (q and −q are one rotation); it follows from the others since the length is 1. Worst rounding errors: 0.49 mm per
//! coordinate, 0.49 mm/s, 0.01 degree.
//!
//! The owner should export what the others will read, so that both ends extrapolate from the very same numbers:
//! [`rounded`] gives that vector. Rounding twice changes nothing more, so a server can pass a vector on without loss.

use super::rotations::{Packed, get_rotation, put_rotation};
use super::{BitReader, BitWriter, Limits, Malformed, Unsendable, Why};
use crate::{DrVector, Kind, Seq};
use domain::{BodyId, SimTime};
use glam::DVec3;

const STEPS_PER_UNIT: f64 = 1024.0;
/// The grid of positions, metres.
pub const POSITION_STEP_M: f64 = 1.0 / STEPS_PER_UNIT;
/// The largest coordinate, metres (2⁴⁰, as between regions).
pub const MAX_COORDINATE_M: f64 = (1_u64 << 40) as f64;
/// The largest component of a velocity, m/s.
pub const MAX_SPEED: f64 = 1e6;
/// The largest component of an acceleration, m/s².
pub const MAX_ACCELERATION: f64 = 1e6;
/// The largest component of a spin, rad/s.
pub const MAX_SPIN: f64 = 1e4;
/// The largest sequence number: 2 years of vectors at 30 a second, and the next one still fits.
pub const MAX_SEQ: u32 = 1 << 31;
/// The latest time, 146 years: sums of times cannot overflow.
pub const MAX_TIME: SimTime = SimTime(1 << 62);

/// How far a rotation's length may be from 1.
const UNIT_TOLERANCE: f64 = 1e-3;

/// Appends a vector; its time is written relative to `base`, or not at all (`timed` false: the one-way-delay mode).
pub fn write_vector(
    out: &mut BitWriter,
    vector: &DrVector,
    base: SimTime,
    timed: bool,
) -> Result<(), Unsendable> {
    check_vector(vector)?;
    out.elastic(vector.entity.0);
    put_fields(out, vector, base, timed);
    Ok(())
}

/// Everything but the entity, of a checked vector.
pub(super) fn put_fields(out: &mut BitWriter, vector: &DrVector, base: SimTime, timed: bool) {
    out.elastic(vector.seq.0.into());
    out.bits(kind_code(vector.kind), 2);
    out.flag(timed);
    if timed {
        out.signed(micros(base) as i64 - micros(vector.time) as i64);
    }
    out.flag(vector.status != 0);
    if vector.status != 0 {
        out.bits(vector.status.into(), 16);
    }
    put_steps(out, vector.position);
    put_rotation(out, vector.rotation);
    if vector.kind != Kind::AtRest {
        put_steps(out, vector.velocity);
        let spin = on_grid(vector.spin);
        out.flag(spin != DVec3::ZERO);
        if spin != DVec3::ZERO {
            put_steps(out, spin);
        }
    }
    if vector.kind == Kind::Ballistic {
        put_steps(out, vector.acceleration);
    }
}

/// Reads a vector written against the same `base`. A vector without a time gets `base` itself.
pub fn read_vector(
    reader: &mut BitReader<'_>,
    base: SimTime,
    limits: &Limits,
) -> Result<DrVector, Malformed> {
    let entity = BodyId(reader.elastic("entity")?);
    Ok(get_fields(reader, entity, base, limits)?.0)
}

/// Everything but the entity; also whether the vector had a time.
pub(super) fn get_fields(
    reader: &mut BitReader<'_>,
    entity: BodyId,
    base: SimTime,
    limits: &Limits,
) -> Result<(DrVector, bool), Malformed> {
    let seq = read_seq(reader)?;
    let kind = kind_of(reader.bits(2, "kind of vector")?);
    let timed = reader.flag("vector is timed")?;
    let time = match timed {
        true => read_time(reader, base, limits, "vector time")?,
        false => base,
    };
    let status = match reader.flag("vector has status")? {
        true => reader.bits(16, "status")? as u16,
        false => 0,
    };
    let mut vector = DrVector {
        entity,
        seq,
        time,
        kind,
        status,
        position: get_steps(reader, MAX_COORDINATE_M, "position")?,
        velocity: DVec3::ZERO,
        acceleration: DVec3::ZERO,
        rotation: get_rotation(reader)?,
        spin: DVec3::ZERO,
    };
    if kind != Kind::AtRest {
        vector.velocity = get_steps(reader, MAX_SPEED, "velocity")?;
        if reader.flag("vector spins")? {
            vector.spin = get_steps(reader, MAX_SPIN, "spin")?;
        }
    }
    if kind == Kind::Ballistic {
        vector.acceleration = get_steps(reader, MAX_ACCELERATION, "acceleration")?;
    }
    Ok((vector, timed))
}

/// The vector as its receivers will read it: on the grid, and without what its kind does not use.
#[must_use]
pub fn rounded(vector: &DrVector) -> DrVector {
    let moves = vector.kind != Kind::AtRest;
    let only_if = |condition: bool, value: DVec3| match condition {
        true => on_grid(value),
        false => DVec3::ZERO,
    };
    DrVector {
        time: SimTime(micros(vector.time) * 1000),
        position: on_grid(vector.position),
        velocity: only_if(moves, vector.velocity),
        acceleration: only_if(vector.kind == Kind::Ballistic, vector.acceleration),
        rotation: Packed::of(vector.rotation).rotation().unwrap_or_default(),
        spin: only_if(moves, vector.spin),
        ..*vector
    }
}

/// May this vector be sent? (Every number finite and within its limit, a unit rotation, a sequence number.)
pub fn check_vector(vector: &DrVector) -> Result<(), Unsendable> {
    if vector.seq.0 == 0 || vector.seq.0 > MAX_SEQ {
        return Err(Unsendable::BadSeq(vector.seq.0));
    }
    if vector.time > MAX_TIME {
        return Err(Unsendable::TooLate(vector.time));
    }
    in_range("position", vector.position, MAX_COORDINATE_M)?;
    in_range("velocity", vector.velocity, MAX_SPEED)?;
    in_range("acceleration", vector.acceleration, MAX_ACCELERATION)?;
    in_range("spin", vector.spin, MAX_SPIN)?;
    let length = vector.rotation.length();
    if (length - 1.0).abs() <= UNIT_TOLERANCE {
        return Ok(());
    }
    Err(Unsendable::NotUnit(length))
}

/// A time as whole microseconds, rounded down: a vector never becomes younger than it is.
pub(super) fn micros(time: SimTime) -> u64 {
    time.0 / 1000
}

/// Reads a time written as `base − time`.
pub(super) fn read_time(
    reader: &mut BitReader<'_>,
    base: SimTime,
    limits: &Limits,
    what: &'static str,
) -> Result<SimTime, Malformed> {
    let start = reader.clone();
    let behind = reader.signed(what)?;
    let micros = i128::from(micros(base)) - i128::from(behind);
    if micros < 0 {
        return Err(start.error(what, Why::TooSmall(behind.unsigned_abs())));
    }
    if micros > i128::from(self::micros(MAX_TIME)) {
        return Err(start.error(what, Why::TooLarge(behind.unsigned_abs())));
    }
    let time = SimTime(micros as u64 * 1000);
    limits.check(time).map_err(|why| start.error(what, why))?;
    Ok(time)
}

/// Reads a sequence number of at least 1.
pub(super) fn read_seq(reader: &mut BitReader<'_>) -> Result<Seq, Malformed> {
    let start = reader.clone();
    match reader.elastic_max(MAX_SEQ.into(), "sequence number")? {
        0 => Err(start.error("sequence number", Why::TooSmall(0))),
        seq => Ok(Seq(seq as u32)),
    }
}

fn kind_code(kind: Kind) -> u64 {
    match kind {
        Kind::AtRest => 0,
        Kind::Linear => 1,
        Kind::Circular => 2,
        Kind::Ballistic => 3,
    }
}

fn kind_of(code: u64) -> Kind {
    match code {
        0 => Kind::AtRest,
        1 => Kind::Linear,
        2 => Kind::Circular,
        _ => Kind::Ballistic,
    }
}

fn in_range(what: &'static str, value: DVec3, max: f64) -> Result<(), Unsendable> {
    let bad = |v: &f64| v.is_nan() || v.abs() > max;
    match value.to_array().into_iter().find(bad) {
        Some(value) => Err(Unsendable::OutOfRange { what, value, max }),
        None => Ok(()),
    }
}

fn on_grid(value: DVec3) -> DVec3 {
    // Adding zero turns −0 into 0, which is what the reader gets.
    (value * STEPS_PER_UNIT).round() / STEPS_PER_UNIT + DVec3::ZERO
}

fn put_steps(out: &mut BitWriter, value: DVec3) {
    for axis in value.to_array() {
        out.steps(axis, STEPS_PER_UNIT);
    }
}

fn get_steps(reader: &mut BitReader<'_>, max: f64, what: &'static str) -> Result<DVec3, Malformed> {
    let mut axes = [0.0; 3];
    for axis in &mut axes {
        *axis = reader.steps(STEPS_PER_UNIT, max, what)?;
    }
    Ok(DVec3::from_array(axes))
}
