//! A machine that has other things to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// How many threads keep the machine busy, as `AURAMESH_LOAD` says.
pub fn threads(default: usize) -> usize {
    let wanted = std::env::var("AURAMESH_LOAD").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Threads that compute nothing, until this is dropped.
pub struct Threads {
    enough: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    pub fn start(count: usize) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let spin = |enough: Arc<AtomicBool>| {
            move || {
                while !enough.load(Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count).map(|_| std::thread::spawn(spin(Arc::clone(&enough))));
        Self {
            threads: threads.collect(),
            enough,
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.enough.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
