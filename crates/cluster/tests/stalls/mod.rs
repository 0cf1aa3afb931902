//! Has the machine itself stood still? Then how long something took says nothing about the program.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A thread that sleeps this long and does so late was not let run.
const NAP: Duration = Duration::from_millis(5);
/// Whoever was late by this much has seen a stall.
const STALL: Duration = Duration::from_millis(100);
/// A coordinator that has heard a server's heart pause is more patient with it for about so long.
const REMEMBERED: Duration = Duration::from_secs(12);

/// Watches from its making to its end.
pub struct Stalls {
    seen: Arc<Mutex<Vec<(Instant, Duration)>>>,
    enough: Arc<AtomicBool>,
}

impl Stalls {
    pub fn watch() -> Self {
        let stalls = Self {
            seen: Arc::default(),
            enough: Arc::default(),
        };
        let (seen, enough) = (Arc::clone(&stalls.seen), Arc::clone(&stalls.enough));
        std::thread::spawn(move || {
            while !enough.load(Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                let late = began.elapsed().saturating_sub(NAP);
                if late > STALL {
                    let mut seen = seen.lock().expect("nobody panics with it");
                    seen.push((Instant::now(), late));
                }
            }
        });
        stalls
    }

    /// The longest one that can have made something slow that began then.
    pub fn longest(&self, began: Instant) -> Option<Duration> {
        let seen = self.seen.lock().expect("nobody panics with it");
        let near = seen.iter().filter(|(at, _)| *at + REMEMBERED > began);
        near.map(|(_, late)| *late).max()
    }

    /// Must take less than the limit, and not much more if the machine stood still: a server whose heart has paused gets up to three times as long. Says whether it counts.
    #[allow(dead_code, reason = "not every test judges")]
    pub fn judge(&self, took: Duration, limit: Duration, began: Instant) -> bool {
        if took < limit {
            return true;
        }
        let stall = self.longest(began);
        println!("took {took:?}; the machine stood still for {stall:?}");
        let most = stall.map(|stall| 3 * (limit + stall));
        assert!(Some(took) < most, "took {took:?}, at most {limit:?}");
        false
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.enough.store(true, Relaxed);
    }
}
