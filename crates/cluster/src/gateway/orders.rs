//! What clients order: may they, does it make sense, and whose business is it?

use super::checks::Bounds;
use super::demo::{DemoControls, check_network};
use super::errands::Asker;
use super::hub::{Hub, Spawned};
use super::injections::Running;
use super::roles::{ClientRole, Guest};
use super::world_change::{self, WorldChange};
use crate::geometry::elements;
use crate::messages::Question;
use crate::names::NodeId;
use client_protocol::{Answer, Command, Injection, Spawn, StaticPiece};
use domain::{Body, BodyForm, BodyId, Motion, RegionId, SimTime, Static, StaticId};
use glam::{DVec3, Vec3};
use std::sync::Arc;

/// Bodies that clients have spawned: their ids begin with this bit, then 23 bits of the gateway's name, then a number.
const SPAWNED_BIT: u64 = 1 << 63;
const NAME_BITS: u64 = 0x7f_ffff;
/// Scenery that clients have put up: this bit, 11 bits of the gateway's name, a number.
const PUT_UP_BIT: u32 = 1 << 31;
const PIECE_NAME_BITS: u32 = 0x7ff;
/// Scenery is never forgotten as long as the world lasts.
const MOST_PIECES: usize = 20_000;
/// Nor is its geometry: so many points and triangles of all pieces, at most 48 MiB on their way to a client.
const MOST_SCENERY_ELEMENTS: usize = 1 << 20;
/// Points and triangles of a shape about which is asked: a region compares them with everything near.
const MOST_PROBE_ELEMENTS: usize = 256;
/// Bodies move while the question is on its way: so much nearer or farther, metres.
const MARGIN_M: f64 = 2.0;
/// The longest ray, metres.
const LONGEST_RAY: f32 = 10_000.0;
/// Injections of one client at a time.
const MOST_INJECTIONS: usize = 8;

/// The next id of a piece of scenery that nothing has. (There are fewer pieces than numbers.)
fn piece_id(node: NodeId, next: &mut u32, is_taken: impl Fn(StaticId) -> bool) -> StaticId {
    let name = (node.0 as u32 >> 1 & PIECE_NAME_BITS) << 20;
    loop {
        *next = next.wrapping_add(1);
        let id = StaticId(PUT_UP_BIT | name | *next & 0xf_ffff);
        // Another gateway's, whose name looks like ours in so few bits.
        if !is_taken(id) {
            return id;
        }
    }
}

impl Hub {
    /// A client wants something.
    pub(super) fn order(&mut self, session: u64, id: u32, command: Command) {
        self.counters.commands.add_one();
        let Some(client) = self.clients.get(&session) else {
            return;
        };
        let (guest, outbox) = (client.guest.clone(), client.outbox.clone());
        let asker = Asker {
            session,
            command: id,
        };
        let begun = self
            .allow(&guest, &command)
            .and_then(|()| self.begin(&guest, asker, command));
        match begun {
            Ok(None) => {}
            Ok(Some(answer)) => outbox.answer(id, answer),
            Err(answer) => {
                match answer {
                    Answer::Forbidden(_) => self.counters.refused_forbidden.add_one(),
                    _ => self.counters.refused_commands.add_one(),
                }
                outbox.answer(id, answer);
            }
        }
    }

    /// May they?
    fn allow(&self, guest: &Guest, command: &Command) -> Result<(), Answer> {
        let needs = match command {
            Command::Ray { .. } | Command::Overlap { .. } => ClientRole::View,
            Command::Spawn(_)
            | Command::Impulse { .. }
            | Command::Velocity { .. }
            | Command::Remove { .. } => ClientRole::Play,
            _ => ClientRole::Admin,
        };
        if guest.role < needs {
            return Err(Answer::Forbidden(format!(
                "your role is {:?}, this needs {needs:?}",
                guest.role
            )));
        }
        let body = match command {
            Command::Impulse { body, .. }
            | Command::Velocity { body, .. }
            | Command::Remove { body } => *body,
            _ => return Ok(()),
        };
        let spawned = self.spawned.get(&body);
        let theirs = spawned.is_some_and(|it| it.player == guest.player);
        if guest.role == ClientRole::Admin || self.settings.open_play || theirs {
            return Ok(());
        }
        Err(Answer::Forbidden("it is not yours".to_owned()))
    }

    /// Begins it; `Some`: it is finished already.
    fn begin(
        &mut self,
        guest: &Guest,
        asker: Asker,
        command: Command,
    ) -> Result<Option<Answer>, Answer> {
        let now = self.clock.local();
        let spec = self.world.as_ref().map(|world| Arc::clone(&world.spec));
        let spec = spec.ok_or_else(|| Answer::Refused("there is no world yet".to_owned()))?;
        let settings = Arc::clone(&self.settings);
        let bounds = Bounds {
            limits: &settings.limits,
            world: &spec,
        };
        let check = |checked: Result<(), String>| checked.map_err(Answer::Refused);
        let question = match command {
            Command::Spawn(spawn) => {
                check(bounds.spawn(&spawn))?;
                self.check_share(guest, elements(&spawn.shape))?;
                self.spawn(now, Some(asker), guest.player, &spawn);
                return Ok(None);
            }
            Command::Inject(injection) => {
                check(bounds.injection(&injection))?;
                return self
                    .begin_injection(now, guest, asker, *injection)
                    .map(Some);
            }
            Command::Reset => return Ok(self.change(asker, WorldChange::Reset)),
            Command::SwitchScene(scene) => {
                return Ok(self.change(asker, WorldChange::Scene(scene)));
            }
            Command::DefineRegions(plan) => {
                return Ok(self.change(asker, WorldChange::Regions(plan)));
            }
            Command::KillServer { server } => {
                return self.control(asker, async move |demo| demo.kill_server(&server).await);
            }
            Command::SetNetwork(network) => {
                check(check_network(&network))?;
                return self.control(asker, async move |demo| demo.set_network(network).await);
            }
            Command::StopInjections => {
                let about = std::mem::take(&mut self.injections).len() as u64;
                let tick = domain::Tick::ZERO;
                return Ok(Some(Answer::Done { tick, about }));
            }
            Command::PutUp(piece) => {
                check(bounds.scenery(&piece))?;
                return self.put_up(now, asker, *piece);
            }
            Command::Ray {
                origin,
                direction,
                reach,
            } => {
                check(bounds.place(origin))?;
                let sound = direction.length() > 1e-6 && reach > 0.0 && reach <= LONGEST_RAY;
                check(sound.then_some(()).ok_or("that is no ray".to_owned()))?;
                self.check_queries(now, asker)?;
                self.cast(now, asker, origin, direction, reach);
                return Ok(None);
            }
            Command::Overlap {
                shape,
                position,
                rotation,
            } => {
                check(bounds.place(position))?;
                check(bounds.probe(&shape))?;
                let fits = elements(&shape) <= MOST_PROBE_ELEMENTS;
                let why = format!("it may have {MOST_PROBE_ELEMENTS} points and triangles");
                check(fits.then_some(()).ok_or(why))?;
                self.check_queries(now, asker)?;
                let radius = f64::from(shape.bounding_radius()) + MARGIN_M;
                let touches = |at: DVec3, size: f64| at.distance(position) <= radius + size;
                let regions = self.regions_near(position, touches);
                let question = Question::Overlap {
                    shape,
                    position,
                    rotation,
                };
                if let Some(world) = &mut self.world {
                    world.errands.overlap(now, Some(asker), regions, &question);
                }
                return Ok(None);
            }
            Command::Impulse { body, impulse, at } => {
                check(bounds.push(impulse, at))?;
                (body, Question::Impulse { body, impulse, at })
            }
            Command::Velocity { body, velocity } => {
                check(bounds.speed(velocity))?;
                (body, Question::Velocity { body, velocity })
            }
            Command::Remove { body } => (body, Question::Remove(body)),
        };
        let (body, question) = question;
        if let Some(world) = &mut self.world {
            let errands = &mut world.errands;
            errands.act(now, Some(asker), body, question, &world.replicas);
        }
        Ok(None)
    }

    /// Players share the world.
    fn check_share(&self, guest: &Guest, elements: usize) -> Result<(), Answer> {
        if guest.role == ClientRole::Admin {
            return Ok(());
        }
        let limits = &self.settings.limits;
        let (most, most_elements) = (limits.bodies_per_player, limits.elements_per_player);
        let theirs = self.spawned.values().filter(|it| it.player == guest.player);
        let (bodies, used) = theirs.fold((0, 0), |(bodies, used), it| {
            (bodies + 1, used + it.elements)
        });
        let why = match (bodies < most, used + elements <= most_elements) {
            (true, true) => return Ok(()),
            (false, _) => format!("you have {most} bodies in the world: remove some"),
            (true, false) => format!(
                "your bodies may have {most_elements} points and triangles together: remove some"
            ),
        };
        Err(Answer::Refused(why))
    }

    /// Regions answer between ticks: nobody may ask so often that others cannot, nor all together so often that ticks are late.
    fn check_queries(&mut self, now: SimTime, asker: Asker) -> Result<(), Answer> {
        let client = self.clients.get_mut(&asker.session);
        let limits = &self.settings.limits;
        let why = if !client.is_some_and(|client| client.queries.take(now, 1.0)) {
            format!("you may ask {} times a second", limits.queries_per_sec)
        } else if !self.queries.take(now, 1.0) {
            "too many ask at once: ask again".to_owned()
        } else {
            return Ok(());
        };
        self.counters.refused_queries.add_one();
        Err(Answer::Refused(why))
    }

    /// The region that holds the place creates it (AP-43).
    fn spawn(&mut self, now: SimTime, asker: Option<Asker>, player: usize, spawn: &Spawn) {
        self.next_body += 1;
        let name = (self.node.0 >> 1 & NAME_BITS) << 40;
        let id = BodyId(SPAWNED_BIT | name | self.next_body);
        let form = BodyForm {
            material: spawn.material,
            continuous: spawn.continuous,
            ..BodyForm::of(spawn.shape.clone())
        };
        let motion = Motion {
            position: spawn.position,
            rotation: spawn.rotation,
            linear_velocity: spawn.velocity,
            angular_velocity: spawn.spin,
        };
        let Some(world) = &mut self.world else {
            return;
        };
        let region = world.spec.map.region_at(spawn.position.x, spawn.position.z);
        let elements = elements(&spawn.shape);
        self.spawned.insert(id, Spawned { player, elements });
        let body = Body::new(id, form, motion);
        world.errands.spawn(now, asker, region, body);
    }

    /// Scenery goes to all regions: a cluster that is hosted outside its own must stand on it too (AP-35, AP-42).
    fn put_up(
        &mut self,
        now: SimTime,
        asker: Asker,
        piece: StaticPiece,
    ) -> Result<Option<Answer>, Answer> {
        let Some(world) = &mut self.world else {
            return Ok(None);
        };
        if world.pieces() >= MOST_PIECES {
            let why = format!("there are {MOST_PIECES} pieces of scenery already");
            return Err(Answer::Refused(why));
        }
        if world.scenery_elements() + elements(&piece.shape) > MOST_SCENERY_ELEMENTS {
            let why = format!("scenery may have {MOST_SCENERY_ELEMENTS} points and triangles");
            return Err(Answer::Refused(why));
        }
        let id = piece_id(self.node, &mut self.next_piece, |id| world.has_piece(id));
        let scenery = Static {
            id,
            shape: piece.shape,
            position: piece.position,
            rotation: piece.rotation,
            material: piece.material,
        };
        let about = scenery.id.0.into();
        let question = Question::PutUp(Box::new(scenery));
        let regions: Vec<RegionId> = world.spec.map.regions().collect();
        let errands = &mut world.errands;
        errands.all(now, Some(asker), regions, about, &question);
        Ok(None)
    }

    fn begin_injection(
        &mut self,
        now: SimTime,
        guest: &Guest,
        asker: Asker,
        injection: Injection,
    ) -> Result<Answer, Answer> {
        let theirs = self
            .injections
            .iter()
            .filter(|running| running.session == asker.session);
        let (count, rate) = theirs.fold((0, injection.rate), |(count, rate), running| {
            (count + 1, rate + running.rate())
        });
        if count >= MOST_INJECTIONS || rate > self.settings.limits.injected_per_sec {
            return Err(Answer::Refused("you inject enough already".to_owned()));
        }
        let seed = self.node.0 ^ now.0;
        let running = Running::new(injection, guest.player, asker.session, now, seed);
        self.injections.push(running);
        let tick = domain::Tick::ZERO;
        Ok(Answer::Done { tick, about: 0 })
    }

    /// Bodies that are due in the volumes.
    pub(super) fn inject(&mut self, now: SimTime) {
        let mut running = std::mem::take(&mut self.injections);
        for injection in &mut running {
            for spawn in injection.take_due(now) {
                self.spawn(now, None, injection.player, &spawn);
            }
        }
        running.retain(|injection| !injection.is_over(now));
        self.injections = running;
    }

    fn cast(&mut self, now: SimTime, asker: Asker, origin: DVec3, direction: Vec3, reach: f32) {
        let along = direction.as_dvec3().normalize();
        let touches = |at: DVec3, radius: f64| {
            let far = (at - origin).dot(along).clamp(0.0, reach.into());
            (origin + along * far).distance(at) <= radius + MARGIN_M
        };
        let regions = self.regions_near(origin, touches);
        let question = Question::Ray {
            origin,
            direction,
            reach,
        };
        if let Some(world) = &mut self.world {
            world.errands.ray(now, Some(asker), regions, &question);
        }
    }

    /// The world starts anew (AP-44, AP-45). The control plane is asked in the background; the answer comes when it has agreed.
    fn change(&self, asker: Asker, change: WorldChange) -> Option<Answer> {
        let membership = Arc::clone(&self.membership);
        let outbox = self.clients.get(&asker.session)?.outbox.clone();
        self.elsewhere.spawn(async move {
            let changed = world_change::change_world(&membership, &change).await;
            let answer = match changed {
                Ok(generation) => Answer::Done {
                    tick: domain::Tick::ZERO,
                    about: generation.0.into(),
                },
                Err(error) => Answer::Refused(error.to_string()),
            };
            outbox.answer(asker.command, answer);
        });
        None
    }

    /// Does something to the demonstration, in the background; elsewhere nobody has such hands.
    fn control<F>(
        &self,
        asker: Asker,
        act: impl FnOnce(Arc<dyn DemoControls>) -> F,
    ) -> Result<Option<Answer>, Answer>
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let demo = self.demo.clone().ok_or_else(|| {
            Answer::Refused("only in a demonstration (`auramesh demo`)".to_owned())
        })?;
        let Some(client) = self.clients.get(&asker.session) else {
            return Ok(None);
        };
        let outbox = client.outbox.clone();
        let acting = act(demo);
        self.elsewhere.spawn(async move {
            let answer = match acting.await {
                Ok(()) => Answer::Done {
                    tick: domain::Tick::ZERO,
                    about: 0,
                },
                Err(why) => Answer::Refused(why),
            };
            outbox.answer(asker.command, answer);
        });
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Two gateways whose names look alike in the few bits of a piece's id never give the same one twice, if they know of each other's pieces.
    #[test]
    fn pieces_of_gateways_with_like_names_have_ids_of_their_own() {
        let (one, other) = (NodeId(0x1234_5678_0000_0246), NodeId(0x4321_8765_0000_0246));
        let mut taken = BTreeSet::new();
        let (mut next, mut others) = (u32::MAX - 50, 0xf_ffff - 50);
        for _ in 0..100 {
            for (node, next) in [(one, &mut next), (other, &mut others)] {
                let id = piece_id(node, next, |id| taken.contains(&id));
                assert!(taken.insert(id), "{id:?} twice");
                assert_eq!(id.0 >> 31, 1);
            }
        }
    }
}
