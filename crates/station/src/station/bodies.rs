//! One body on a station, whatever it is to it.

use super::hindsight::Trail;
use crate::body::{Ball, Command, Role, State};
use crate::geometry::{Bouncer, Course};
use crate::ids::PairId;
use crate::reckon::{Forecasts, Replica, Sender};
use crate::settings::{ForesightPath, LockedInput, ReckoningSettings};
use domain::SimTime;
use glam::DVec3;

/// What only an owner has.
#[derive(Clone, Debug, Default)]
pub(super) struct Master {
    pub state: State,
    /// For the coming frame.
    pub command: Option<Command>,
    /// For the frame after the lock.
    pub waiting: Option<Command>,
    /// The number of the present stretch of free motion.
    pub segment: u8,
    pub sender: Sender,
    /// How well its player's motion could be foretold so far.
    pub forecasts: Forecasts,
    /// Where it has been lately.
    pub trail: Trail,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Master(Box<Master>),
    Replica(Box<Replica>),
    Global(State),
}

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub ball: Ball,
    pub kind: Kind,
    /// While locked: what it does until the lock ends.
    pub hold: Option<Course>,
    /// The pair whose hit was the last to change its course, and when.
    pub bounced_by: Option<(PairId, SimTime)>,
}

impl Body {
    pub fn new(ball: Ball, kind: Kind) -> Self {
        Self {
            ball,
            kind,
            hold: None,
            bounced_by: None,
        }
    }

    pub fn role(&self) -> Role {
        match &self.kind {
            Kind::Master(_) => Role::Master,
            Kind::Replica(replica) => Role::Replica {
                owner: replica.owner,
            },
            Kind::Global(_) => Role::Global,
        }
    }

    /// As it takes part in hits, as of the last frame.
    pub fn state(&self) -> State {
        match &self.kind {
            Kind::Master(master) => master.state,
            Kind::Replica(replica) => replica.shown(),
            Kind::Global(state) => *state,
        }
    }

    /// What it will do, as far as anyone can tell.
    pub fn course(&self, path: ForesightPath, now: SimTime) -> Course {
        self.hold
            .unwrap_or_else(|| Course::of(path, now, self.state()))
    }

    pub fn bouncer(&self) -> Bouncer {
        let State {
            position, velocity, ..
        } = self.state();
        Bouncer {
            ball: self.ball,
            position,
            velocity,
        }
    }

    /// Whether its motion is fixed.
    pub fn is_locked(&self) -> bool {
        self.hold.is_some()
    }
}

impl Master {
    /// What happens to a command given during a lock.
    pub fn hold_back(&mut self, command: Command, input: LockedInput) -> bool {
        let buffered = input == LockedInput::Buffer;
        if buffered {
            self.waiting = Some(command);
        }
        buffered
    }

    /// A frame of free motion is over: was it as foretold?
    pub fn look_back(&mut self, now: SimTime, path: ForesightPath) {
        self.forecasts.learn(now, self.state.position);
        self.forecasts
            .remember(now, Course::of(path, now, self.state));
    }

    /// Bounced: a new stretch begins.
    pub fn bounce(&mut self, settings: &ReckoningSettings, shared: bool) {
        self.segment = self.segment.wrapping_add(1);
        self.sender.handle_bounce(settings, shared);
        self.forecasts.restart();
    }

    /// The coming frame's motion of a free master.
    pub fn advance(&mut self, secs: f64) {
        let state = State {
            acceleration: DVec3::ZERO,
            ..self.state
        };
        self.state = match self.command.take() {
            None => state.after(secs),
            Some(Command::Velocity(velocity)) => {
                State::moving(state.position, velocity).after(secs)
            }
            Some(Command::Accelerate(acceleration)) => State {
                acceleration,
                ..state
            }
            .after(secs),
            Some(Command::Turn(axis)) => {
                Course::turn(SimTime::ZERO, state.position, state.velocity, axis).after(secs)
            }
            Some(Command::Follow(wanted)) => wanted,
        };
    }
}
