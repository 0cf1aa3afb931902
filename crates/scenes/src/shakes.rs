//! `[[shake]]`: every body of the start is pushed again and again, so that a scene never comes to rest.
//!
//! Unrolled into commands when the scene is read: whoever runs the scene knows commands already, and one server or
//! nine give the same pushes at the same times.

use crate::joints::MAX_COMMANDS;
use crate::reader::{Allowed, Table};
use crate::shapes::vec3;
use crate::spawns::{unit, within};
use crate::{Action, Command, MAX_SECONDS};
use domain::Body;
use glam::DVec3;
use rand_pcg::Pcg64;

pub(crate) const SHAKE_KEYS: &[&str] = &["every", "from", "until", "impulse_min", "impulse_max"];
const MAX_SHAKES: usize = 1000;
/// Injectors count their streams from 0; shakes from here, so that adding one never changes the other.
const FIRST_STREAM: u128 = 1 << 64;

/// When and how hard.
struct Shake {
    every: f64,
    from: f64,
    until: f64,
    low: DVec3,
    high: DVec3,
}

/// The pushes of all shakes, in no order yet. They depend on the scene's own seed only.
pub(crate) fn read_shakes(root: &Table, seconds: f64, seed: u64, bodies: &[Body]) -> Vec<Command> {
    let mut pushes = Vec::new();
    for (index, table) in root.tables("shake", MAX_SHAKES).iter().enumerate() {
        let Some(shake) = read_shake(table, seconds) else {
            continue;
        };
        let count = (shake.until - shake.from) / shake.every * bodies.len() as f64;
        if pushes.len() as f64 + count > MAX_COMMANDS as f64 {
            table.note(
                "every",
                format!("{count:.0} pushes are too many: at most {MAX_COMMANDS}"),
            );
            break;
        }
        shake.unroll(
            Pcg64::new(seed.into(), FIRST_STREAM + index as u128),
            bodies,
            &mut pushes,
        );
    }
    pushes
}

fn read_shake(table: &Table, seconds: f64) -> Option<Shake> {
    table.allow(&[SHAKE_KEYS]);
    let every = table.required("every", "seconds between two pushes of a body");
    let every = every.and_then(|f| f.number(Allowed::at_least(0.001).up_to(MAX_SECONDS)));
    let time = |key, default| match table.field(key) {
        Some(field) => field.number(Allowed::at_least(0.0).up_to(MAX_SECONDS)),
        None => Some(default),
    };
    let push = |key| {
        let field = table.required(key, "a push, [x, y, z] in newton seconds")?;
        Some(vec3(&field, Allowed::within(1e9))?.as_dvec3())
    };
    let (from, until) = (time("from", 0.0), time("until", seconds));
    let (low, high) = (push("impulse_min"), push("impulse_max"));
    let shake = Shake {
        every: every?,
        from: from?,
        until: until?,
        low: low?,
        high: high?,
    };
    if shake.from >= shake.until {
        table.note("from", format!("must be before `until` ({})", shake.until));
        return None;
    }
    if !shake.low.cmple(shake.high).all() {
        table.note(
            "impulse_max",
            "`impulse_max` must not be below `impulse_min` in x, y or z",
        );
        return None;
    }
    Some(shake)
}

impl Shake {
    /// Each body has its own phase, so that at any time some have just been pushed.
    fn unroll(&self, mut rng: Pcg64, bodies: &[Body], pushes: &mut Vec<Command>) {
        for body in bodies {
            let mut at = self.from + self.every * unit(&mut rng);
            while at < self.until {
                pushes.push(Command {
                    at,
                    body: body.id,
                    action: Action::Impulse(within(&mut rng, self.low, self.high).as_vec3()),
                });
                at += self.every;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Action, Scene};

    const BODIES: &str = "
        seconds = 10
        [[grid]]
        shape = { type = \"sphere\", radius = 0.5 }
        count = [3, 1, 1]
        spacing = [2, 2, 2]
        [[shake]]
        every = 0.5
        impulse_min = [-1, 2, 0]
        impulse_max = [1, 3, 0]
        ";

    #[test]
    fn every_body_is_pushed_at_its_own_regular_times() {
        let scene = Scene::parse(BODIES, None).unwrap();
        assert_eq!(scene.commands.len(), 3 * 20);
        assert!(scene.commands.is_sorted_by(|a, b| a.at <= b.at));
        for body in &scene.bodies {
            let mine: Vec<_> = scene
                .commands
                .iter()
                .filter(|c| c.body == body.id)
                .collect();
            assert!(
                mine.windows(2)
                    .all(|w| (w[1].at - w[0].at - 0.5).abs() < 1e-9)
            );
            for command in mine {
                let Action::Impulse(push) = command.action else {
                    panic!("a shake pushes");
                };
                assert!((-1.0..=1.0).contains(&push.x) && (2.0..=3.0).contains(&push.y));
            }
        }
    }

    #[test]
    fn too_many_pushes_and_reversed_bounds_are_refused() {
        let often = BODIES
            .replace("every = 0.5", "every = 0.001")
            .replace("[3,", "[30,");
        let refused = Scene::parse(&often, None).unwrap_err().to_string();
        assert!(refused.contains("too many"), "{refused}");
        let reversed = BODIES.replace("[1, 3, 0]", "[1, 1, 0]");
        let refused = Scene::parse(&reversed, None).unwrap_err().to_string();
        assert!(refused.contains("impulse_max"), "{refused}");
        let late = BODIES.replace("every = 0.5", "every = 0.5\nfrom = 11");
        assert!(Scene::parse(&late, None).is_err());
    }
}
