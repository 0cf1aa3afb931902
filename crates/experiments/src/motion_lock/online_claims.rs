//! What `ml-online` must show: R7 of the digest, and the share of lost commands.

use super::arms::Arm;
use super::online_play::Outcome;
use crate::result::Claim;

/// All of them.
pub(super) fn all(outcomes: &[Outcome], lock_ms: f64) -> Vec<Claim> {
    let of = |arm: Arm| {
        let found = outcomes.iter().find(|one| one.arm == arm);
        found.expect("every protocol was played")
    };
    let control = of(Arm::Control);
    let post = of(Arm::PostCollision);
    let lock = of(Arm::MotionLock);
    let buckets = of(Arm::Buckets);
    let deviations = [control, post, buckets, lock].map(|one| one.deviation.avg());
    let mut claims = vec![
        Claim::new(
            "R7",
            "deviation: control > post-collision > buckets > motion-lock (published 0.51 > 0.32 > 0.29 > 0.27)",
            deviations.is_sorted_by(|one, next| one > next),
            deviations.map(|one| format!("{one:.3}")).join(" / "),
        ),
        Claim::new(
            "R7",
            "deviation of motion-lock and of buckets is below control's (published: by 47 and 43 %)",
            lock.deviation.avg() < control.deviation.avg()
                && buckets.deviation.avg() < control.deviation.avg(),
            format!(
                "{:.0} % and {:.0} % below",
                100.0 * (1.0 - lock.deviation.avg() / control.deviation.avg()),
                100.0 * (1.0 - buckets.deviation.avg() / control.deviation.avg())
            ),
        ),
        Claim::new(
            "R7",
            "the longest Δt_col of motion-lock is far below post-collision's, less than half (published 39 against 428 ms)",
            lock.interval.max() < 0.5 * post.interval.max(),
            format!(
                "{:.0} against {:.0} ms; with buckets {:.0} ms; averages {:.1}, {:.1}, {:.1} ms",
                lock.interval.max(),
                post.interval.max(),
                buckets.interval.max(),
                lock.interval.avg(),
                post.interval.avg(),
                buckets.interval.avg()
            ),
        ),
        Claim::new(
            "R7",
            "bodies overlap visibly (by more than half a radius) with motion-lock and never with buckets",
            lock.overlaps > 0 && buckets.overlaps == 0,
            format!(
                "{} overlaps, the deepest {:.1}, against {} and {:.1}",
                lock.overlaps, lock.penetration, buckets.overlaps, buckets.penetration
            ),
        ),
        Claim::new(
            "R7",
            "bytes grow by less than 10 % with motion-lock and with buckets (published: received +7.0 and +8.5 %, sent -0.6 and +2.7 %)",
            [lock, buckets].iter().all(|one| {
                one.received.avg() < 1.1 * control.received.avg()
                    && one.sent.avg() < 1.1 * control.sent.avg()
            }),
            [lock, buckets]
                .map(|one| {
                    let more = |ours: f64, theirs: f64| 100.0 * (ours / theirs - 1.0);
                    format!(
                        "{}: received {:+.1} %, sent {:+.1} %",
                        one.arm.name(),
                        more(one.received.avg(), control.received.avg()),
                        more(one.sent.avg(), control.sent.avg())
                    )
                })
                .join("; "),
        ),
    ];
    claims.extend([lock, buckets, of(Arm::Improved), of(Arm::ImprovedBuckets)].map(|one| {
        Claim::new(
            "ML-53",
            format!(
                "{}: at most 4.2 % of the commands are lost to locks at T_lock {lock_ms} ms (published 4.04 % motion-lock, 4.13 % buckets)",
                one.arm.name()
            ),
            one.discarded_pct() <= 4.2 && one.commands[0] > 0,
            format!(
                "{} of {} ({:.2} %)",
                one.commands[1],
                one.commands[0],
                one.discarded_pct()
            ),
        )
    }));
    claims.push(agreement(outcomes));
    claims.push(locks(outcomes, lock_ms));
    claims
}

fn agreement(outcomes: &[Outcome]) -> Claim {
    let agreeing = outcomes.iter().filter(|one| one.arm != Arm::Control);
    let texts: Vec<String> = agreeing
        .clone()
        .map(|one| {
            format!(
                "{} {}/{} hits, {} alone",
                one.arm.name(),
                one.hits[0],
                one.hits[1],
                one.alone
            )
        })
        .collect();
    // A hit of the last moments may still be under way.
    let consistent = agreeing.clone().all(|one| one.alone <= 2);
    Claim::new(
        "ML-52",
        "all but control count the same hits at both stations (but for at most two still under way at the end)",
        consistent && agreeing.count() > 0,
        texts.join("; "),
    )
}

fn locks(outcomes: &[Outcome], lock_ms: f64) -> Claim {
    let total: u64 = outcomes.iter().map(|one| one.locks).sum();
    let overlong: u64 = outcomes.iter().map(|one| one.overlong).sum();
    let longest = outcomes.iter().map(|one| one.longest_lock_ms);
    Claim::new(
        "ML-23",
        format!("no lock lasts longer than T_lock ({lock_ms} ms) and one frame"),
        overlong == 0 && total > 0,
        format!(
            "{overlong} of {total} locks; the longest {:.0} ms",
            longest.fold(0.0, f64::max)
        ),
    )
}
