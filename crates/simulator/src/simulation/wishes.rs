//! What users want, carried out by whoever is responsible.

use super::Simulation;
use crate::user::{User, Wish};
use domain::{Body, BodyId, SimTime};
use scenes::Action;

impl Simulation {
    pub(super) fn handle_wishes(&mut self) {
        while let Some(wish) = self.user.take(self.now) {
            let done = match &wish {
                Wish::Spawn(body) => self.spawn(body),
                Wish::Act(body, action) => self.act(*body, *action),
            };
            if !done {
                let later = self.now + SimTime::from_millis(10.0);
                if self.map.len() > 1 || matches!(wish, Wish::Spawn(_)) {
                    self.user.postpone(later, wish);
                }
            }
        }
    }

    pub(super) fn spawn(&mut self, body: &Body) -> bool {
        let id = User::responsible(&self.map, body);
        let Some(region) = self.region(id).filter(|region| !region.is_recovering()) else {
            return false;
        };
        region.spawn_or_report(body);
        let tick = region.tick();
        self.user.issued(id, tick, body.clone());
        self.tell_events(id);
        true
    }

    /// Says whether it is over: done, or refused by who has the body.
    pub(super) fn act(&mut self, body: BodyId, action: Action) -> bool {
        let mut regions = self
            .servers
            .iter_mut()
            .filter_map(|server| server.region.as_mut());
        let Some(region) = regions.find(|region| region.world().contains(body)) else {
            return false;
        };
        let done = match action {
            Action::Impulse(impulse) => region.apply_impulse(body, impulse, None),
            Action::Velocity(velocity) => region.set_velocity(body, velocity),
        };
        if let Err(why) = done {
            self.abort(format!("a command of the scene: {why}"));
        }
        true
    }
}
