//! How long a receiver has to wait for a vector, counted in triggers (DR-34).

use domain::SimTime;
use reckoning::fairness::{DelayModel, PolicyTag, Recipient, Rehearsal};

/// The longest gap between two vectors to the same receiver of a policy, up to the newest that can have arrived by `end`. Exact where
/// nothing is lost or overtaken on the way.
pub(super) fn longest(rehearsal: &Rehearsal, tag: PolicyTag, end: SimTime) -> u32 {
    let recipients = rehearsal.sender().recipients(tag).iter();
    let gaps = recipients.map(|one| longest_of(rehearsal, tag, one, end));
    gaps.max().unwrap_or(0)
}

fn longest_of(rehearsal: &Rehearsal, tag: PolicyTag, one: &Recipient, end: SimTime) -> u32 {
    let followed = rehearsal.followed(tag, one.id).iter();
    let mut seqs: Vec<u32> = followed.map(|reception| reception.vector.seq.0).collect();
    if seqs.is_empty() {
        return u32::MAX;
    }
    // Whoever is starved gets nothing any more: the time since its last vector counts as well.
    let delay = one.ledger.delays().delay(DelayModel::Oracle);
    let newest = rehearsal
        .history()
        .in_effect(SimTime(end.0.saturating_sub(delay.0)));
    seqs.extend(newest.map(|vector| vector.seq.0));
    let gaps = seqs.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::motion::Motion;
    use super::super::plans::{BASE, Plan, THIRD};
    use super::super::trial::Setup;
    use super::*;
    use reckoning::fairness::policies::{Context, Policy};

    /// Serves everybody ten times, then nobody.
    #[derive(Debug)]
    struct Starving(u32);

    impl Policy for Starving {
        fn name(&self) -> String {
            "starving".into()
        }

        fn on_trigger(&mut self, context: &mut Context<'_>) {
            self.0 += 1;
            let serves = self.0 <= 10;
            context.send_newest_if(|_, _| serves);
        }
    }

    /// DR-34: a receiver that gets nothing any more is found out.
    #[test]
    fn the_wait_at_the_end_counts() {
        let starving = Plan {
            name: "starving",
            make: || Box::new(Starving(0)),
        };
        let plans = [BASE, THIRD, starving];
        let setup = Setup::thesis(Motion::Smooth, 0.0, &plans, 30.0);
        let (trace, rehearsal) = setup.rehearse(7, 0).expect("sound");
        let gap = |tag| longest(&rehearsal, PolicyTag(tag), setup.end());
        assert_eq!((gap(0), gap(1)), (1, 3));
        assert!(gap(2) > trace.vectors.len() as u32 / 2);
    }
}
