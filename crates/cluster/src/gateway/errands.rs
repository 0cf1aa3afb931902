//! What clients asked for, on its way to the regions and back. No I/O here.
//!
//! ```text
//!  client ─ command ─► Errands ─ question ─► region that owns the body or holds the place
//!                         ▲  └─ "not here": asked again where it went, for a while
//!  client ◄─ answer ──────┴──── answer(s) ── region(s)
//! ```
//! What was created or removed is remembered until the region's standby has a snapshot that shows it. If the region is restored from an older
//! one, it is done again: regions do not create the same body twice.

use super::replicas::Replicas;
use crate::messages::{self, Question};
use client_protocol::{Answer, Hit, Struck};
use domain::{Body, BodyId, ContactEnd, RegionId, SimTime, Static, Tick};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// No answer for so long: none will come. A region that is restored takes less.
const PATIENCE: SimTime = SimTime(4_000_000_000);
/// A body that is nowhere for so long does not exist.
const LONGEST_SEARCH: SimTime = SimTime(1_000_000_000);
const LOOK_AGAIN: SimTime = SimTime(40_000_000);
/// After a region was restored its neighbours give back what they have; what is missing after so long is done again.
const SETTLING: SimTime = SimTime(1_500_000_000);
/// So much is remembered at most.
const LONGEST_LEDGER: usize = 10_000;

/// Whose command it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Which client.
    pub session: u64,
    /// The number it gave.
    pub command: u32,
}

/// The end of an errand.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Whose it was; `None`: our own.
    pub asker: Option<Asker>,
    /// The answer.
    pub answer: Answer,
    /// A body that was to be created and was not.
    pub unborn: Option<BodyId>,
}

enum Task {
    Spawn(Box<Body>),
    /// Something done to a body, wherever it is.
    Act {
        body: BodyId,
        question: Question,
        /// It cannot be found: given up then.
        search_until: SimTime,
        look_at: Option<SimTime>,
    },
    Ray(Option<Hit>),
    Overlap(BTreeSet<BodyId>),
    /// Something that all regions do.
    All {
        about: u64,
        tick: Tick,
    },
}

struct Job {
    asker: Option<Asker>,
    task: Task,
    waiting: usize,
    deadline: SimTime,
}

struct Asked {
    job: u64,
    region: RegionId,
    question: Question,
}

enum Deed {
    Spawned(Box<Body>),
    Removed(BodyId),
    PutUp(Box<Static>),
}

struct Done {
    region: RegionId,
    tick: Tick,
    deed: Deed,
}

/// All errands of a gateway in one world.
#[derive(Default)]
pub struct Errands {
    next: u64,
    jobs: BTreeMap<u64, Job>,
    asked: BTreeMap<u64, Asked>,
    ledger: VecDeque<Done>,
    /// Regions that were restored, and when to look what is missing.
    restored: BTreeMap<RegionId, SimTime>,
    questions: Vec<(RegionId, u64, Question)>,
    replies: Vec<Reply>,
    repeated: u64,
}

impl Errands {
    /// For questions that no earlier world's answers are taken for.
    pub fn starting_at(next: u64) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// The number of the next question.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// How often something was done again.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Questions to be sent: to whom, their number, what.
    pub fn take_questions(&mut self) -> Vec<(RegionId, u64, Question)> {
        std::mem::take(&mut self.questions)
    }

    /// What is finished.
    pub fn take_replies(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.replies)
    }

    // ── errands ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Creates a body in the region that holds its place.
    pub fn spawn(&mut self, now: SimTime, asker: Option<Asker>, region: RegionId, body: Body) {
        let question = Question::Spawn(Box::new(body.clone()));
        let task = Task::Spawn(Box::new(body));
        self.begin(now, asker, task, [region], &question);
    }

    /// Does something to a body.
    pub fn act(
        &mut self,
        now: SimTime,
        asker: Option<Asker>,
        body: BodyId,
        question: Question,
        replicas: &Replicas,
    ) {
        let task = Task::Act {
            body,
            question: question.clone(),
            search_until: now + LONGEST_SEARCH,
            look_at: None,
        };
        let job = self.begin(now, asker, task, [], &question);
        self.look_for(now, job, replicas);
    }

    /// What does a ray hit first, of all that these regions have?
    pub fn ray(
        &mut self,
        now: SimTime,
        asker: Option<Asker>,
        regions: BTreeSet<RegionId>,
        question: &Question,
    ) {
        self.begin(now, asker, Task::Ray(None), regions, question);
    }

    /// What touches a shape, of all that these regions have?
    pub fn overlap(
        &mut self,
        now: SimTime,
        asker: Option<Asker>,
        regions: BTreeSet<RegionId>,
        question: &Question,
    ) {
        let task = Task::Overlap(BTreeSet::new());
        self.begin(now, asker, task, regions, question);
    }

    /// Something that all these regions shall do.
    pub fn all(
        &mut self,
        now: SimTime,
        asker: Option<Asker>,
        regions: impl IntoIterator<Item = RegionId>,
        about: u64,
        question: &Question,
    ) {
        let tick = Tick::ZERO;
        let task = Task::All { about, tick };
        self.begin(now, asker, task, regions, question);
    }

    fn begin(
        &mut self,
        now: SimTime,
        asker: Option<Asker>,
        task: Task,
        regions: impl IntoIterator<Item = RegionId>,
        question: &Question,
    ) -> u64 {
        let job = self.number();
        self.jobs.insert(
            job,
            Job {
                asker,
                task,
                waiting: 0,
                deadline: now + PATIENCE,
            },
        );
        for region in regions {
            self.ask(job, region, question.clone());
        }
        job
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn ask(&mut self, job: u64, region: RegionId, question: Question) {
        let number = self.number();
        if let Some(job) = self.jobs.get_mut(&job) {
            job.waiting += 1;
        }
        self.questions.push((region, number, question.clone()));
        let asked = Asked {
            job,
            region,
            question,
        };
        self.asked.insert(number, asked);
    }

    /// Asks the body's owner, or looks again later.
    fn look_for(&mut self, now: SimTime, number: u64, replicas: &Replicas) {
        let Some(job) = self.jobs.get_mut(&number) else {
            return;
        };
        let Task::Act {
            body,
            question,
            search_until,
            look_at,
        } = &mut job.task
        else {
            return;
        };
        match replicas.get(*body) {
            Some(replica) => {
                let question = question.clone();
                *look_at = None;
                self.ask(number, replica.owner, question);
            }
            None if now < *search_until => *look_at = Some(now + LOOK_AGAIN),
            None => self.finish(number, Answer::NotFound),
        }
    }

    fn finish(&mut self, number: u64, answer: Answer) {
        self.asked.retain(|_, asked| asked.job != number);
        if let Some(job) = self.jobs.remove(&number) {
            let is_done = matches!(answer, Answer::Done { .. });
            let unborn = match &job.task {
                Task::Spawn(body) if !is_done => Some(body.id),
                _ => None,
            };
            let asker = job.asker;
            self.replies.push(Reply {
                asker,
                answer,
                unborn,
            });
        }
    }

    // ── what regions say ───────────────────────────────────────────────────────────────────────────────────────

    /// A region answers.
    pub fn handle_answer(&mut self, now: SimTime, number: u64, answer: messages::Answer) {
        // An answer that came twice, or too late.
        let Some(asked) = self.asked.remove(&number) else {
            return;
        };
        let Some(job) = self.jobs.get_mut(&asked.job) else {
            return;
        };
        job.waiting -= 1;
        let waiting = job.waiting;
        match (&mut job.task, answer) {
            (_, messages::Answer::Refused(why)) => {
                self.finish(asked.job, Answer::Refused(why));
            }
            (Task::Spawn(body), messages::Answer::Done { tick }) => {
                let (about, deed) = (body.id.0, Deed::Spawned(body.clone()));
                self.remember(asked.region, tick, deed);
                self.finish(asked.job, Answer::Done { tick, about });
            }
            (Task::Act { body, .. }, messages::Answer::Done { tick }) => {
                let body = *body;
                if matches!(asked.question, Question::Remove(_)) {
                    self.forget_spawn(body);
                    self.remember(asked.region, tick, Deed::Removed(body));
                }
                let about = body.0;
                self.finish(asked.job, Answer::Done { tick, about });
            }
            (
                Task::Act {
                    look_at,
                    search_until,
                    ..
                },
                messages::Answer::NotHere,
            ) => {
                // It has just gone elsewhere; where, we shall hear.
                let given_up = now >= *search_until;
                *look_at = Some(now + LOOK_AGAIN);
                if given_up {
                    self.finish(asked.job, Answer::NotFound);
                }
            }
            (Task::Ray(best), messages::Answer::Hit(hit)) => {
                let nearer =
                    |hit: &messages::Hit| best.is_none_or(|best| hit.distance < best.distance);
                if let Some(hit) = hit.filter(nearer) {
                    *best = Some(hit_of(&hit));
                }
                let best = *best;
                if waiting == 0 {
                    self.finish(asked.job, Answer::Hit(best));
                }
            }
            (Task::Overlap(found), messages::Answer::Touching(bodies)) => {
                found.extend(bodies);
                if waiting == 0 {
                    let all = std::mem::take(found).into_iter().collect();
                    self.finish(asked.job, Answer::Touching(all));
                }
            }
            (Task::All { about, tick }, messages::Answer::Done { tick: done }) => {
                *tick = (*tick).max(done);
                let (tick, about) = (*tick, *about);
                if let Question::PutUp(scenery) = asked.question {
                    self.remember(asked.region, done, Deed::PutUp(scenery));
                }
                if waiting == 0 {
                    self.finish(asked.job, Answer::Done { tick, about });
                }
            }
            (_, other) => {
                tracing::warn!(region = %asked.region, ?other, "an answer that fits no question");
                self.finish(asked.job, Answer::NoAnswer);
            }
        }
    }

    /// The region has another owner: what it had not answered is asked again.
    pub fn handle_new_owner(&mut self, now: SimTime, region: RegionId) {
        self.restored.insert(region, now + SETTLING);
        let open = self
            .asked
            .iter()
            .filter(|(_, asked)| asked.region == region);
        for (number, asked) in open {
            self.questions
                .push((region, *number, asked.question.clone()));
        }
    }

    /// The region's standby has everything up to this tick.
    pub fn handle_kept(&mut self, region: RegionId, kept: Tick) {
        if !self.restored.contains_key(&region) {
            self.ledger
                .retain(|done| done.region != region || done.tick > kept);
        }
    }

    /// Time passes.
    pub fn handle_time(&mut self, now: SimTime, replicas: &Replicas) {
        let due = |job: &Job| match job.task {
            Task::Act {
                look_at: Some(at), ..
            } => job.waiting == 0 && now >= at,
            _ => false,
        };
        let looking: Vec<u64> = numbers(&self.jobs, due);
        for job in looking {
            self.look_for(now, job, replicas);
        }
        for job in numbers(&self.jobs, |job| now >= job.deadline) {
            self.finish(job, Answer::NoAnswer);
        }
        let settled: Vec<RegionId> = self
            .restored
            .iter()
            .filter(|(_, at)| now >= **at)
            .map(|(region, _)| *region)
            .collect();
        for region in settled {
            self.restored.remove(&region);
            self.do_again(now, region, replicas);
        }
    }

    /// The world is over: nobody will answer.
    pub fn give_up(&mut self) {
        for job in numbers(&self.jobs, |_| true) {
            self.finish(job, Answer::NoAnswer);
        }
    }

    // ── the ledger ─────────────────────────────────────────────────────────────────────────────────────────────

    fn remember(&mut self, region: RegionId, tick: Tick, deed: Deed) {
        self.ledger.push_back(Done { region, tick, deed });
        if self.ledger.len() > LONGEST_LEDGER {
            self.ledger.pop_front();
        }
    }

    fn forget_spawn(&mut self, body: BodyId) {
        self.ledger
            .retain(|done| !matches!(&done.deed, Deed::Spawned(other) if other.id == body));
    }

    /// What the restored region does not know any more.
    fn do_again(&mut self, now: SimTime, region: RegionId, replicas: &Replicas) {
        let ledger = std::mem::take(&mut self.ledger);
        for done in ledger {
            let there = |body: BodyId| replicas.get(body).is_some();
            match &done.deed {
                Deed::Spawned(body) if done.region == region && !there(body.id) => {
                    self.repeated += 1;
                    self.spawn(now, None, region, (**body).clone());
                }
                Deed::Removed(body) if done.region == region && there(*body) => {
                    self.repeated += 1;
                    self.act(now, None, *body, Question::Remove(*body), replicas);
                }
                Deed::PutUp(scenery) if done.region == region => {
                    self.repeated += 1;
                    let question = Question::PutUp(scenery.clone());
                    self.all(now, None, [region], 0, &question);
                }
                _ => self.ledger.push_back(done),
            }
        }
    }
}

fn numbers(jobs: &BTreeMap<u64, Job>, wanted: impl Fn(&Job) -> bool) -> Vec<u64> {
    let found = jobs.iter().filter(|(_, job)| wanted(job));
    found.map(|(number, _)| *number).collect()
}

fn hit_of(hit: &messages::Hit) -> Hit {
    Hit {
        struck: match hit.end {
            ContactEnd::Body(body) => Struck::Body(body),
            ContactEnd::Static(scenery) => Struck::Static(scenery),
        },
        distance: hit.distance,
        point: hit.point,
        normal: hit.normal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Entered, Feed};
    use domain::{BodyForm, Epoch, Motion, Shape};
    use glam::{DVec3, Vec3};

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);
    const NOW: SimTime = SimTime(0);
    const ME: Option<Asker> = Some(Asker {
        session: 1,
        command: 2,
    });

    fn body() -> Body {
        let form = BodyForm::of(Shape::Sphere { radius: 1.0 });
        Body::new(BodyId(7), form, Motion::at(DVec3::ZERO))
    }

    fn owned_by(replicas: &mut Replicas, region: RegionId, epoch: u32) {
        let entered = Entered {
            body: body(),
            epoch: Epoch(epoch),
        };
        let feed = Feed {
            entered: vec![entered],
            ..Feed::default()
        };
        replicas.handle_feed(NOW, region, &feed);
    }

    fn push() -> Question {
        Question::Impulse {
            body: BodyId(7),
            impulse: Vec3::Y,
            at: None,
        }
    }

    #[test]
    fn a_body_that_has_just_gone_is_asked_for_where_it_went() {
        let mut errands = Errands::default();
        let mut replicas = Replicas::default();
        owned_by(&mut replicas, A, 0);
        errands.act(NOW, ME, BodyId(7), push(), &replicas);
        let (region, number, _) = errands.take_questions().remove(0);
        assert_eq!(region, A);
        errands.handle_answer(NOW, number, messages::Answer::NotHere);
        owned_by(&mut replicas, B, 1);
        errands.handle_time(NOW + LOOK_AGAIN, &replicas);
        let (region, number, _) = errands.take_questions().remove(0);
        assert_eq!(region, B);
        let tick = Tick(9);
        errands.handle_answer(NOW, number, messages::Answer::Done { tick });
        let done = Answer::Done { tick, about: 7 };
        let reply = Reply {
            asker: ME,
            answer: done,
            unborn: None,
        };
        assert_eq!(errands.take_replies(), [reply]);
        assert!(errands.jobs.is_empty());
    }

    #[test]
    fn a_body_that_does_not_exist_is_not_looked_for_forever() {
        let mut errands = Errands::default();
        let replicas = Replicas::default();
        errands.act(NOW, ME, BodyId(7), push(), &replicas);
        errands.handle_time(NOW + LOOK_AGAIN, &replicas);
        assert!(errands.take_replies().is_empty());
        errands.handle_time(NOW + LONGEST_SEARCH, &replicas);
        assert_eq!(errands.take_replies()[0].answer, Answer::NotFound);
    }

    #[test]
    fn the_nearest_hit_of_all_regions_wins_and_silence_ends() {
        let mut errands = Errands::default();
        let question = Question::Ray {
            origin: DVec3::ZERO,
            direction: Vec3::X,
            reach: 9.0,
        };
        errands.ray(NOW, ME, [A, B].into(), &question);
        let asked = errands.take_questions();
        let hit = |distance| messages::Hit {
            end: ContactEnd::Body(BodyId(distance as u64)),
            distance,
            point: DVec3::ZERO,
            normal: Vec3::X,
        };
        for ((_, number, _), distance) in asked.into_iter().zip([5.0, 3.0]) {
            let answer = messages::Answer::Hit(Some(hit(distance)));
            errands.handle_answer(NOW, number, answer);
        }
        let replies = errands.take_replies();
        let Answer::Hit(Some(best)) = replies[0].answer else {
            panic!("{replies:?}");
        };
        assert_eq!(best.struck, Struck::Body(BodyId(3)));

        errands.ray(NOW, ME, [A].into(), &question);
        errands.handle_time(NOW + PATIENCE, &Replicas::default());
        assert_eq!(errands.take_replies()[0].answer, Answer::NoAnswer);
    }

    /// A spawn that the restored region's snapshot does not show is done again, once; one that it shows is not.
    #[test]
    fn what_a_restored_region_forgot_is_done_again() {
        for (kept, there, again) in [(5, false, true), (5, true, false), (20, false, false)] {
            let mut errands = Errands::default();
            let mut replicas = Replicas::default();
            errands.spawn(NOW, ME, A, body());
            let (_, number, _) = errands.take_questions().remove(0);
            let tick = Tick(10);
            errands.handle_answer(NOW, number, messages::Answer::Done { tick });
            errands.handle_kept(A, Tick(kept));
            errands.handle_new_owner(NOW, A);
            if there {
                owned_by(&mut replicas, B, 1);
            }
            errands.handle_time(NOW + SETTLING, &replicas);
            let asked = errands.take_questions();
            assert_eq!(!asked.is_empty(), again, "kept {kept}, there {there}");
            if let Some((region, _, question)) = asked.first() {
                assert_eq!(*region, A);
                assert!(matches!(question, Question::Spawn(_)));
            }
        }
    }

    #[test]
    fn a_removal_that_was_forgotten_is_done_again() {
        let mut errands = Errands::default();
        let mut replicas = Replicas::default();
        owned_by(&mut replicas, A, 0);
        let remove = Question::Remove(BodyId(7));
        errands.act(NOW, ME, BodyId(7), remove.clone(), &replicas);
        let (_, number, _) = errands.take_questions().remove(0);
        errands.handle_answer(NOW, number, messages::Answer::Done { tick: Tick(3) });
        errands.handle_new_owner(NOW, A);
        errands.handle_time(NOW + SETTLING, &replicas);
        let asked = errands.take_questions();
        assert_eq!((asked[0].0, &asked[0].2), (A, &remove));
    }
}
