//! Watches all regions of a live world from above, tick by tick, as the simulator's checkers do.

use crate::correspondent::Correspondent;
use crate::messages::{self, Account, Answer, FromRegion, Question, Subscription, ToRegion};
use crate::names::{Place, Term};
use crate::node::Node;
use crate::post_office::Mail;
use crate::schema::ClusterView;
use domain::Tick;
use region::TickRecord;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// One tick of one region.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which region.
    pub place: Place,
    /// Under which owner.
    pub term: Term,
    /// What happened.
    pub record: TickRecord,
    /// CPU time of the region's thread for it, milliseconds.
    pub cpu_ms: f32,
}

/// What an observer gets to see.
#[derive(Clone, Debug, PartialEq)]
pub enum Sight {
    /// A tick of a region.
    Tick(Seen),
    /// A region's account of itself, as asked.
    Account(Place, Box<Account>),
}

/// Someone who is told everything.
pub struct Observer {
    correspondent: Correspondent,
    view: watch::Receiver<Arc<ClusterView>>,
    /// Who has been asked to tell.
    asked: BTreeMap<Place, Term>,
    /// When we last heard of each, or asked it.
    heard: BTreeMap<Place, Instant>,
}

/// How often it is looked after regions that have fallen silent, while nothing at all comes.
const GLANCE: Duration = Duration::from_millis(500);
/// A region that is silent for so long has given us up, because we did not listen.
const GIVEN_UP: Duration = Duration::from_secs(2);

impl Observer {
    /// Begins to watch.
    pub fn new(node: &Node) -> Self {
        let mut view = node.membership.view();
        view.mark_changed();
        let me = node.id.endpoint();
        let (clock, carrier) = (Arc::clone(&node.clock), Arc::clone(&node.carrier));
        Self {
            correspondent: Correspondent::new(me, clock, carrier, &node.switchboard),
            view,
            asked: BTreeMap::new(),
            heard: BTreeMap::new(),
        }
    }

    /// The control plane as far as it is known.
    pub fn view(&self) -> Arc<ClusterView> {
        self.view.borrow().clone()
    }

    /// What happens next. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Sight {
        loop {
            let mail = tokio::select! {
                changed = self.view.changed() => {
                    if changed.is_err() {
                        std::future::pending::<()>().await;
                    }
                    self.subscribe();
                    continue;
                }
                mail = self.correspondent.next() => mail,
                () = tokio::time::sleep(GLANCE) => {
                    self.renew_silent();
                    continue;
                }
            };
            let Mail::Payload { from, bytes } = mail else {
                continue;
            };
            let Some(place) = Place::of_endpoint(from) else {
                continue;
            };
            let term = Term(self.correspondent.incarnation_of(from).unwrap_or(0));
            self.heard.insert(place, Instant::now());
            match messages::decode(&bytes) {
                Ok(FromRegion::Record { record, cpu_ms }) => {
                    let record = *record;
                    return Sight::Tick(Seen {
                        place,
                        term,
                        record,
                        cpu_ms,
                    });
                }
                Ok(FromRegion::Answer {
                    answer: Answer::Account(account),
                    ..
                }) => return Sight::Account(place, account),
                Ok(_) => {}
                Err(error) => tracing::warn!(%place, %error, "a message was refused"),
            }
        }
    }

    /// Tells every region that everything up to this tick has been judged: from now on they wait for whoever judges.
    pub fn tell_seen(&mut self, tick: Tick) {
        let view = self.view();
        let generation = view.assignment.generation;
        for (region, _) in view.assignment.regions() {
            self.send(Place { generation, region }, &ToRegion::Seen { tick });
        }
    }

    /// Asks every region for its account.
    pub fn ask_for_accounts(&mut self) {
        let view = self.view();
        let generation = view.assignment.generation;
        for (region, _) in view.assignment.regions() {
            let question = ToRegion::Ask {
                id: 0,
                question: Question::Account,
            };
            self.send(Place { generation, region }, &question);
        }
    }

    fn send(&mut self, place: Place, message: &ToRegion) {
        let payload = messages::encode(message);
        if let Err(error) = self.correspondent.send(place.endpoint(), payload) {
            tracing::warn!(%place, %error, "a region does not answer");
        }
    }

    fn subscribe(&mut self) {
        let view = self.view.borrow_and_update().clone();
        let generation = view.assignment.generation;
        for (region, seat) in view.assignment.regions() {
            let place = Place { generation, region };
            if seat.owner.is_none() || self.asked.get(&place) == Some(&seat.term) {
                continue;
            }
            self.asked.insert(place, seat.term);
            self.correspondent.expect(place.endpoint(), seat.term.0);
            self.ask_for_records(place);
        }
    }

    fn ask_for_records(&mut self, place: Place) {
        self.heard.insert(place, Instant::now());
        let wanted = Subscription {
            feed: false,
            records: true,
        };
        self.send(place, &ToRegion::Subscribe(wanted));
    }

    fn renew_silent(&mut self) {
        let generation = self.view().assignment.generation;
        let silent = self
            .heard
            .iter()
            .filter(|(place, heard)| place.generation == generation && heard.elapsed() >= GIVEN_UP);
        let silent: Vec<Place> = silent.map(|(place, _)| *place).collect();
        for place in silent {
            self.correspondent.renew(place.endpoint());
            self.ask_for_records(place);
        }
    }
}
