//! I1: every dynamic body has exactly one owner, or is in exactly one handover in flight.
//!
//! A region that steps, hands over or takes in a body that the ledger has elsewhere holds a second copy.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View, describe};
use super::ledger::{Holder, may_restore};
use crate::facts::Fact;
use domain::{BodyId, RegionId, Tick};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub(super) struct SingleOwner {
    /// Second copies already counted: one copy is one error, however often it is stepped.
    copies: FxHashSet<(BodyId, RegionId)>,
}

impl Checker for SingleOwner {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        let mut copy = |tick, region, body, did: &str| {
            if self.copies.insert((body, region)) {
                report(view, findings, tick, region, body, did);
            }
        };
        let holder = |body| view.ledger.holder(body);
        match *fact {
            Fact::Born {
                tick, region, body, ..
            } if !matches!(holder(body), None | Some(Holder::Adrift(_))) => {
                copy(tick, region, body, "was born again in");
            }
            Fact::Stepped {
                tick,
                region,
                bodies,
            } => {
                let reported = bodies.iter().zip(&view.roll.present);
                for ((body, _), _) in reported.filter(|(_, slot)| slot.is_none()) {
                    copy(tick, region, *body, "was stepped by");
                }
            }
            Fact::CaughtUp {
                tick,
                region,
                bodies,
                ..
            } => {
                for (body, _) in bodies {
                    if view.ledger.slot_for_catch_up(*body, region).is_none() {
                        copy(tick, region, *body, "was caught up by");
                    }
                }
            }
            Fact::Departed {
                tick,
                from,
                members,
                ..
            } => {
                for (body, _) in members {
                    if holder(*body) != Some(Holder::Owned(from)) {
                        copy(tick, from, *body, "was handed over by");
                        self_left(&mut self.copies, *body, from);
                        return;
                    }
                }
            }
            Fact::Arrived {
                tick,
                region,
                from,
                handover,
                members,
            } => {
                let flight = Holder::InFlight {
                    from,
                    to: region,
                    handover,
                };
                for (body, _) in members {
                    let expected = [Some(flight), Some(Holder::Adrift(region))];
                    if !expected.contains(&holder(*body)) {
                        copy(tick, region, *body, "was taken in by");
                    }
                }
            }
            Fact::Restored {
                tick,
                region,
                snapshot,
                bodies,
            } => {
                for (body, _) in bodies {
                    if !holder(*body).is_some_and(|h| may_restore(h, region, snapshot)) {
                        copy(tick, region, *body, "was brought back by");
                    }
                }
            }
            Fact::Removed { tick, region, body } if holder(body) != Some(Holder::Owned(region)) => {
                copy(tick, region, body, "was removed by");
            }
            Fact::Crashed { region, .. } => self.copies.retain(|(_, holder)| *holder != region),
            _ => {}
        }
    }
}
