//! The latest facts, so that a violation can tell what led to it. Bounded: a run may last for hours.

use crate::facts::Fact;
use domain::{BodyId, RegionId, SimTime, Tick};
use std::collections::VecDeque;
use wire::HandoverCause;

/// How many facts are kept for the whole run.
const KEPT: usize = 2048;
/// How many are told with a violation.
const TOLD: usize = 16;

/// A ring of the latest facts. Steps are not kept: they are the normal course of things and would push out the rest.
#[derive(Default)]
pub(super) struct Recent {
    notes: VecDeque<Note>,
}

struct Note {
    at: SimTime,
    tick: Tick,
    event: Event,
    /// Whom it is about; empty: everyone.
    bodies: Vec<BodyId>,
}

#[derive(Clone)]
enum Event {
    Born(RegionId),
    Removed(RegionId),
    CaughtUp(RegionId, u64),
    Departed(RegionId, RegionId, u64, HandoverCause),
    Arrived(RegionId, RegionId, u64),
    Heard(RegionId, RegionId, String),
    Contact(RegionId, f64),
    Crashed(RegionId),
    Restored(RegionId, Tick),
    Disturbed(Tick),
    Quiescent,
}

impl Recent {
    pub fn note(&mut self, at: SimTime, fact: &Fact<'_>) {
        let Some((event, bodies)) = summary(fact) else {
            return;
        };
        if self.notes.len() == KEPT {
            self.notes.pop_front();
        }
        self.notes.push_back(Note {
            at,
            tick: fact.tick(),
            event,
            bodies,
        });
    }

    /// The latest facts about one of these bodies, oldest first.
    pub fn about(&self, bodies: &[BodyId]) -> Vec<String> {
        let concerns = |note: &&Note| {
            note.bodies.is_empty() || note.bodies.iter().any(|body| bodies.contains(body))
        };
        let mut lines: Vec<String> = self
            .notes
            .iter()
            .rev()
            .filter(concerns)
            .take(TOLD)
            .map(Note::line)
            .collect();
        lines.reverse();
        lines
    }
}

fn summary(fact: &Fact<'_>) -> Option<(Event, Vec<BodyId>)> {
    let ids = |members: &[(BodyId, _)]| members.iter().map(|(body, _)| *body).collect();
    Some(match *fact {
        Fact::Stepped { .. } => return None,
        Fact::Born { region, body, .. } => (Event::Born(region), vec![body]),
        Fact::Removed { region, body, .. } => (Event::Removed(region), vec![body]),
        Fact::CaughtUp {
            region,
            batch,
            bodies,
            ..
        } => (
            Event::CaughtUp(region, batch),
            bodies.iter().map(|(body, _)| *body).collect(),
        ),
        Fact::Departed {
            from,
            to,
            handover,
            members,
            cause,
            ..
        } => (Event::Departed(from, to, handover, cause), ids(members)),
        Fact::Arrived {
            region,
            from,
            handover,
            members,
            ..
        } => (Event::Arrived(region, from, handover), ids(members)),
        Fact::Heard {
            region,
            from,
            what,
            bodies,
            ..
        } => (Event::Heard(region, from, what.to_owned()), bodies.to_vec()),
        Fact::Contact {
            region,
            a,
            b,
            depth_m,
            ..
        } => (Event::Contact(region, depth_m), vec![a, b]),
        Fact::Crashed { region, .. } => (Event::Crashed(region), Vec::new()),
        Fact::Restored {
            region, snapshot, ..
        } => (Event::Restored(region, snapshot), Vec::new()),
        Fact::Disturbed { until, .. } => (Event::Disturbed(until), Vec::new()),
        Fact::Quiescent { .. } => (Event::Quiescent, Vec::new()),
    })
}

impl Note {
    fn line(&self) -> String {
        let Self { at, tick, .. } = self;
        format!("{at} tick {tick}: {}", self.event.text(&self.bodies))
    }
}

impl Event {
    fn text(&self, bodies: &[BodyId]) -> String {
        let who = names(bodies);
        match self {
            Self::Born(region) => format!("{who} born in {region}"),
            Self::Removed(region) => format!("{who} removed by {region}"),
            Self::CaughtUp(region, batch) => {
                format!("{who} caught up alone by {region} (batch {batch})")
            }
            Self::Departed(from, to, handover, cause) => {
                format!(
                    "{who} left {from} for {to} (handover {handover}): {}",
                    why(*cause)
                )
            }
            Self::Arrived(region, from, handover) => {
                format!("{who} arrived at {region} from {from} (handover {handover})")
            }
            Self::Heard(region, from, what) => format!("{region} read from {from}: {what}"),
            Self::Contact(region, depth_m) => {
                format!("{who} met in {region}, {:.1} mm deep", depth_m * 1e3)
            }
            Self::Crashed(region) => format!("{region} crashed"),
            Self::Restored(region, snapshot) => {
                format!("{region} restored from its snapshot of tick {snapshot}")
            }
            Self::Disturbed(until) => format!("disturbance until tick {until}"),
            Self::Quiescent => "everything has settled".to_string(),
        }
    }
}

fn names(bodies: &[BodyId]) -> String {
    if bodies.is_empty() {
        return "announced spawns".to_owned();
    }
    const NAMED: usize = 6;
    let named: Vec<String> = bodies.iter().take(NAMED).map(BodyId::to_string).collect();
    match bodies.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn why(cause: HandoverCause) -> String {
    match cause {
        HandoverCause::AuraCollision { member, aura } => {
            format!("{member} touched the aura of {aura}")
        }
        HandoverCause::BoundaryTraversal => "an island outside its region".to_string(),
        HandoverCause::CentreCrossed => "its centre crossed the border".to_string(),
    }
}
