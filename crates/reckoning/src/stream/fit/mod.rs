//! Choosing a curve: which one keeps within the tolerance for longest, and costs least?
//!
//! ```text
//!            tube of ±tolerance around the true path
//!     ........................................          o  true positions, known up to the present
//!   ──o─────o──── old curve leaves the tube here ✗      …  where the body would go on its own
//!      ╲ ..............................
//!       ╲o──o──o──o──o … … … …          the new curve: begins *on* the old one, so that no position need be sent,
//!        ↑ start    ↑ present           and takes the velocity that stays in the tube longest
//! ```
//!
//! What clients show lags behind by a fixed delay, so the server knows a few ticks of the future of what it sends. It
//! tries several starts before the old curve fails, for each start a least-squares velocity over several spans, and
//! keeps the one with the fewest bits per tick it is expected to last.

mod flights;
mod known;
mod turns;

pub(crate) use flights::next_flight;
pub(crate) use known::Known;
pub(crate) use turns::next_turn;

/// How far ahead of the present a curve is judged, ticks.
const AHEAD: u64 = 16;
/// How far ahead of the present velocities are fitted, ticks.
const FIT_AHEAD: [u64; 2] = [3, 8];
/// The chance that something happens to a body in a tick, as far as judging curves goes.
const HAZARD: f64 = 0.25;
/// A curve may begin this many ticks before what clients show: earlier than needed, but nearer to where the old one was
/// still right.
const START_EARLIER: u64 = 1;
/// A curve that does not begin on the old one begins at most this many ticks before that fails.
const RESTART_EARLIER: u64 = 2;
/// What a record costs besides its numbers, bits.
const OVERHEAD_BITS: f64 = 7.0;
/// What it costs besides these to say that a curve begins elsewhere than expected, bits.
const ELSEWHERE_BITS: f64 = 9.0;
/// A velocity or spin costs at least this, bits.
const LEAST_RATE_BITS: f64 = 3.0;

/// The better of curves: fewest bits per tick.
struct Best<C> {
    curve: Option<C>,
    price: f64,
    /// The longest life any curve is given.
    longest: f64,
}

impl<C> Best<C> {
    fn new(known: &Known) -> Self {
        Self {
            curve: None,
            price: f64::INFINITY,
            longest: known.expected_life(known.now + AHEAD),
        }
    }

    /// Could a curve of this cost not be better even if it lasted longest?
    fn is_beyond(&self, bits: f64) -> bool {
        OVERHEAD_BITS + bits >= self.price * self.longest
    }

    /// Takes the curve if it is better. How long it lasts is only asked if it could be: that is the expensive part.
    fn offer(&mut self, curve: C, bits: f64, life: impl FnOnce(&C) -> Option<f64>) {
        if self.is_beyond(bits) {
            return;
        }
        if let Some(life) = life(&curve) {
            let price = (OVERHEAD_BITS + bits) / life;
            if price < self.price {
                (self.curve, self.price) = (Some(curve), price);
            }
        }
    }
}

/// About what three numbers cost: one bit for a zero, otherwise their length and a bit and a half.
fn bits(values: [i32; 3]) -> f64 {
    let halves = |v: &i32| match v {
        0 => 2,
        v => 2 * (32 - v.unsigned_abs().leading_zeros()) + 3,
    };
    f64::from(values.iter().map(halves).sum::<u32>()) * 0.5
}

/// A rate rounded to a grid: to the nearest lines; towards what is expected, which is cheaper to tell; and to just that
/// on axes that change little.
fn rounded(value: [i32; 3], expected: [i32; 3], shift: u32) -> [[i32; 3]; 3] {
    let step = 1 << shift;
    let on_line = |v: i32| (v + (step >> 1)) >> shift << shift;
    let nearest = value.map(on_line);
    let (mut nearer, mut kept) = (nearest, nearest);
    for axis in 0..3 {
        let below = value[axis] >> shift << shift;
        let above = if below == value[axis] {
            below
        } else {
            below + step
        };
        nearer[axis] = on_line(expected[axis]).clamp(below, above);
        if (value[axis] - expected[axis]).abs() < 2 * step {
            kept[axis] = on_line(expected[axis]);
        }
    }
    [nearest, nearer, kept]
}
