//! AP-1: every body is simulated on exactly one server; owned and in flight together are always all of them.
//!
//! The checkers say so for every run. These tests count for themselves, from the facts alone.

use crate::common::{assert_clean, network, scene, watch};
use domain::BodyId;
use simulator::SimOptions;
use simulator::facts::Fact;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where each body is: `Some(server)` or in flight.
#[derive(Default)]
struct Book {
    places: BTreeMap<BodyId, Option<u32>>,
    born: u64,
    in_flight_at_once: usize,
    steps: u64,
}

impl Book {
    fn hear(&mut self, fact: &Fact<'_>) {
        match *fact {
            Fact::Born { region, body, .. } => {
                self.born += 1;
                assert_eq!(
                    self.places.insert(body, Some(region.0)),
                    None,
                    "{body} is born twice"
                );
            }
            Fact::Departed { from, members, .. } => {
                for (body, _) in members {
                    let before = self.places.insert(*body, None);
                    assert_eq!(before, Some(Some(from.0)), "{body} leaves where it was");
                }
                let in_flight = self.places.values().filter(|place| place.is_none()).count();
                self.in_flight_at_once = self.in_flight_at_once.max(in_flight);
            }
            Fact::Arrived {
                region, members, ..
            } => {
                for (body, _) in members {
                    let before = self.places.insert(*body, Some(region.0));
                    assert_eq!(before, Some(None), "{body} comes out of its flight");
                }
            }
            Fact::Stepped { region, bodies, .. } => {
                self.steps += bodies.len() as u64;
                for (body, _) in bodies {
                    // The births of the start are told before anyone can listen.
                    let place = self.places.entry(*body).or_insert(Some(region.0));
                    assert_eq!(*place, Some(region.0), "{body} is stepped by who owns it");
                }
            }
            _ => {}
        }
    }
}

fn count(name: &str, servers: usize, seconds: f64, net: &str) {
    let scene = scene(name);
    let options = SimOptions {
        servers: Some(servers),
        seconds: Some(seconds),
        network: network(net),
        ..SimOptions::default()
    };
    let book = Rc::new(RefCell::new(Book::default()));
    let outcome = watch(&scene, &options, {
        let book = book.clone();
        move |_, fact| book.borrow_mut().hear(fact)
    });
    assert_clean(&outcome, name);
    let book = book.borrow();
    assert!(
        outcome.migrations > 0 && book.in_flight_at_once > 0,
        "{name}: there was traffic"
    );
    let tally = outcome.bodies;
    assert_eq!(tally.start, scene.bodies.len() as u64);
    assert_eq!(
        tally.start + tally.spawned - tally.removed,
        tally.end + tally.in_flight
    );
    assert_eq!(
        book.places.len() as u64,
        tally.start + tally.spawned,
        "{name}: all bodies by id"
    );
    assert_eq!(book.born, tally.spawned);
    let in_flight = book.places.values().filter(|place| place.is_none()).count() as u64;
    assert_eq!(in_flight, tally.in_flight, "{name}");
}

/// AP-1 in a run without spawns: clusters that cross borders and corners.
#[test]
fn islands_are_conserved() {
    count(
        "islands",
        4,
        15.0,
        "latency_ms=1.5,jitter_ms=0.5,loss=0.02,dup=0.02",
    );
    count(
        "islands",
        9,
        15.0,
        "latency_ms=1.5,jitter_ms=0.5,loss=0.02,dup=0.02",
    );
}

/// AP-1 with jointed bodies.
#[test]
fn ragdolls_are_conserved() {
    count(
        "ragdolls",
        4,
        6.0,
        "latency_ms=1.5,jitter_ms=0.5,loss=0.02,dup=0.02",
    );
}

/// AP-1 with spawns, some of them announced near borders.
#[test]
fn spawned_bodies_are_conserved() {
    count(
        "columns",
        4,
        6.0,
        "latency_ms=1.5,jitter_ms=0.5,loss=0.02,dup=0.02",
    );
}
