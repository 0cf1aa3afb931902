//! A trace as it reaches one receiver: every vector at its own time.

use super::trace::Trace;
use domain::SimTime;
use reckoning::DrVector;
use reckoning::fairness::{Direction, Link, Network, ReceiverId};

/// A vector that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub at: SimTime,
    pub vector: DrVector,
    /// How long it and its acknowledgement were under way: what a receiver can measure without a shared clock.
    pub round_trip: SimTime,
}

/// All arrivals in order of time, handed out frame by frame.
#[derive(Clone, Debug)]
pub(super) struct Playback {
    arrivals: Vec<Arrival>,
    next: usize,
}

impl Playback {
    /// Over these links, out and back.
    pub fn new(trace: &Trace, out: &Link, back: &Link, network_seed: u64) -> Self {
        let network = Network::new(network_seed);
        let receiver = ReceiverId(0);
        let mut arrivals = Vec::new();
        for vector in &trace.vectors {
            let home = network.fate(back, receiver, vector.seq, Direction::Ack);
            let home = home.last().unwrap_or(SimTime::ZERO);
            for delay in network.fate(out, receiver, vector.seq, Direction::Vector) {
                arrivals.push(Arrival {
                    at: vector.time + delay,
                    vector: *vector,
                    round_trip: delay + home,
                });
            }
        }
        arrivals.sort_by_key(|arrival| arrival.at);
        Self { arrivals, next: 0 }
    }

    /// What has arrived since the last call, up to `now`.
    pub fn due(&mut self, now: SimTime) -> &[Arrival] {
        let from = self.next;
        let rest = &self.arrivals[from..];
        self.next += rest.partition_point(|arrival| arrival.at <= now);
        &self.arrivals[from..self.next]
    }
}

#[cfg(test)]
mod tests {
    use super::super::motion::Motion;
    use super::*;
    use domain::BodyId;

    #[test]
    fn every_vector_arrives_once_in_order_of_time() {
        let trace = Trace::record(Motion::Smooth, BodyId(1), 5, 20.0);
        let link = Link::fixed(300.0).with_spread(180.0);
        let mut playback = Playback::new(&trace, &link, &link, 5);
        let early = playback.due(SimTime::from_secs(10.0)).len();
        assert!(early > 0 && early < trace.vectors.len());
        let late = playback.due(SimTime::from_secs(30.0));
        assert!(late.is_sorted_by_key(|arrival| arrival.at));
        assert_eq!(early + late.len(), trace.vectors.len());
    }
}
