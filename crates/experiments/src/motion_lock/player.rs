//! Bodies on pre-computed paths until something takes them off (Chen 2010, 5.1.1: "a list of pre-calculated object trajectories").

use domain::{BodyId, SimTime};
use scenes::encounters::{Motion, Path};
use simulator::stations::Player;
use station::{Cause, Command, Event, State, Station};

struct Plan {
    body: BodyId,
    path: Path,
    /// A hit has thrown it off its path: from now on it flies freely.
    free: bool,
}

/// Moves masters along their paths.
pub(crate) struct PathPlayer {
    plans: Vec<Plan>,
    meeting_secs: f64,
}

impl PathPlayer {
    /// For these masters; the paths' time is zero at the meeting.
    pub fn new(plans: impl IntoIterator<Item = (BodyId, Path)>, meeting_secs: f64) -> Self {
        let plans = plans.into_iter();
        Self {
            plans: plans
                .map(|(body, path)| Plan {
                    body,
                    path,
                    free: false,
                })
                .collect(),
            meeting_secs,
        }
    }
}

/// For the core.
pub(crate) fn state(motion: Motion) -> State {
    State {
        position: motion.position,
        velocity: motion.velocity,
        acceleration: motion.acceleration,
    }
}

impl Player for PathPlayer {
    fn play(&mut self, now: SimTime, next: SimTime, station: &mut Station) {
        let secs = |at: SimTime| at.as_secs() - self.meeting_secs;
        for plan in self.plans.iter().filter(|plan| !plan.free) {
            let Some(view) = station.view(plan.body) else {
                continue;
            };
            // A lock that ended without a hit has carried it a little off: it goes on from there, beside its path.
            let off = view.physics.position - plan.path.at(secs(now)).position;
            let mut wanted = state(plan.path.at(secs(next)));
            wanted.position += off;
            let command = Command::Follow(wanted);
            let obeyed = station.command(plan.body, command);
            obeyed.expect("the body is a master and the path is finite");
        }
    }

    fn hear(&mut self, event: &Event) {
        let pair = match event {
            Event::Hit(hit) if hit.cause != Cause::CountOnly => hit.pair,
            Event::LocalBounce { pair, .. } => *pair,
            _ => return,
        };
        for plan in self.plans.iter_mut().filter(|plan| pair.has(plan.body)) {
            plan.free = true;
        }
    }
}
