//! Jobs on all cores; the answers come in the order of the jobs, on any number of cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Does all jobs; `progress` hears the share that is done.
pub(crate) fn map<J: Sync, R: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> R + Sync,
    progress: &mut dyn FnMut(f64),
) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, job)) = take(next, jobs) {
                    // The receiver outlives the scope.
                    let _ = sender.send((index, work(job)));
                }
            });
        }
        drop(sender);
        for (done, (index, result)) in (1..).zip(receiver) {
            results[index] = Some(result);
            progress(f64::from(done) / jobs.len() as f64);
        }
    });
    let done = results.into_iter();
    done.map(|result| result.expect("every job was taken by a thread that did not panic"))
        .collect()
}

fn take<'a, J>(next: &AtomicUsize, jobs: &'a [J]) -> Option<(usize, &'a J)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..100).collect();
        let mut shares = Vec::new();
        let squares = map(&jobs, |job| job * job, &mut |share| shares.push(share));
        assert_eq!(squares[99], 9801);
        assert!(squares.is_sorted());
        assert_eq!((shares.len(), shares[99]), (100, 1.0));
    }
}
