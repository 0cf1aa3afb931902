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

use super::{BitReader, BitWriter, Limits, Malformed, Unsendable, Why};
use crate::{DrVector, Kind, Seq};
use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};

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

const QUATERNION_BITS: u32 = 14;
/// The three smaller components of a unit quaternion are at most 1/√2; steps of 1/11000 reach ±0.7446.
const QUATERNION_STEPS: f64 = 11_000.0;
const QUATERNION_OFFSET: f64 = (1 << (QUATERNION_BITS - 1)) as f64;
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
    // Written so that NaN fails too.
    match value.to_array().into_iter().find(|v| !(v.abs() <= max)) {
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

/// A quaternion without one of its components.
#[derive(Clone, Copy)]
struct Packed {
    left_out: usize,
    steps: [f64; 3],
}

impl Packed {
    /// Usually the largest component is left out. A rotation that came from the wire is written exactly as it was read,
    /// even if rounding has made another component the largest.
    fn of(rotation: DQuat) -> Self {
        let as_read = (0..4).map(|left_out| Self::without(rotation, left_out));
        let mut exact = as_read.filter(|packed| packed.rotation() == Some(rotation));
        exact.next().unwrap_or_else(|| {
            let sizes = rotation.to_array().map(f64::abs);
            let largest = (1..4).fold(0, |best, i| if sizes[i] > sizes[best] { i } else { best });
            Self::without(rotation.normalize(), largest)
        })
    }

    fn without(rotation: DQuat, left_out: usize) -> Self {
        let all = rotation.to_array();
        let sign = if all[left_out] < 0.0 { -1.0 } else { 1.0 };
        let mut kept = (0..4).filter(|i| *i != left_out).map(|i| all[i] * sign);
        let limit = QUATERNION_OFFSET - 1.0;
        let mut step = || (kept.next().unwrap_or(0.0) * QUATERNION_STEPS).round();
        let steps = [(); 3].map(|()| step().clamp(-limit, limit));
        Self { left_out, steps }
    }

    fn rotation(&self) -> Option<DQuat> {
        let kept = self.steps.map(|step| step / QUATERNION_STEPS + 0.0);
        let square: f64 = kept.iter().map(|v| v * v).sum();
        if square > 1.0 {
            return None;
        }
        let mut all = [0.0; 4];
        let others = (0..4).filter(|i| *i != self.left_out);
        others.zip(kept).for_each(|(i, value)| all[i] = value);
        all[self.left_out] = (1.0 - square).sqrt();
        Some(DQuat::from_array(all))
    }
}

fn put_rotation(out: &mut BitWriter, rotation: DQuat) {
    let packed = Packed::of(rotation);
    out.bits(packed.left_out as u64, 2);
    for step in packed.steps {
        out.bits((step + QUATERNION_OFFSET) as u64, QUATERNION_BITS);
    }
}

fn get_rotation(reader: &mut BitReader<'_>) -> Result<DQuat, Malformed> {
    let start = reader.clone();
    let left_out = reader.bits(2, "rotation")? as usize;
    let mut steps = [0.0; 3];
    for step in &mut steps {
        *step = reader.bits(QUATERNION_BITS, "rotation")? as f64 - QUATERNION_OFFSET;
    }
    // The lowest code has no positive counterpart; nobody writes it.
    let writable = steps.iter().all(|step| *step > -QUATERNION_OFFSET);
    let rotation = writable.then(|| Packed { left_out, steps }.rotation());
    rotation
        .flatten()
        .ok_or_else(|| start.error("rotation", Why::NotUnit))
}
