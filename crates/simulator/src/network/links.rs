//! The network itself: every datagram gets a verdict when it is sent.
//!
//! ```text
//!            cut or isolated? ── lost? ── queue full? ── arrives at t, perhaps again at t'
//! send ──►        │               │            │
//!                 ▼               ▼            ▼
//!               gone            gone         gone
//! ```
//!
//! Each way between two servers has its own dice, seeded from the run's seed and the two names, and every
//! datagram throws them the same number of times whatever comes up. So traffic on one link does not change the fate
//! of another's, and a run with more loss loses a superset of the datagrams.

use super::conditions::{MAX_QUEUE, NetworkConditions};
use domain::{RegionId, SimTime};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[cfg(test)]
mod tests;

/// Bytes on their way, or arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sent it.
    pub from: RegionId,
    /// Who receives it.
    pub to: RegionId,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// What has happened on one way, or on all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Datagrams handed to the network.
    pub sent: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of `sent`: lost by chance, by a full queue or by a cut.
    pub lost: u64,
    /// Of `sent`: arrived or arriving twice.
    pub duplicated: u64,
}

/// All ways between all servers.
#[derive(Debug)]
pub struct Network {
    seed: u64,
    conditions: NetworkConditions,
    links: BTreeMap<(RegionId, RegionId), Link>,
    cuts: BTreeSet<(RegionId, RegionId)>,
    isolated: BTreeSet<RegionId>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    sent: u64,
}

#[derive(Debug)]
struct Link {
    rng: Pcg64Mcg,
    conditions: Option<NetworkConditions>,
    free_at: SimTime,
    stats: LinkStats,
}

/// Ordered by arrival; of two that arrive together the one sent first is first.
#[derive(Debug)]
struct UnderWay {
    arrives: SimTime,
    number: u64,
    datagram: Datagram,
}

impl PartialEq for UnderWay {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for UnderWay {}

impl PartialOrd for UnderWay {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnderWay {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.arrives, self.number).cmp(&(other.arrives, other.number))
    }
}

impl Network {
    /// A network with the same conditions everywhere. The same seed and the same sends give the same arrivals.
    pub fn new(seed: u64, conditions: NetworkConditions) -> Self {
        Self {
            seed,
            conditions,
            links: BTreeMap::new(),
            cuts: BTreeSet::new(),
            isolated: BTreeSet::new(),
            under_way: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// Other conditions from now on, on every way that has none of its own.
    pub fn set_conditions(&mut self, conditions: NetworkConditions) {
        self.conditions = conditions;
    }

    /// Conditions of its own for one way, not for the way back; `None` takes them away again.
    pub fn set_link(
        &mut self,
        from: RegionId,
        to: RegionId,
        conditions: Option<NetworkConditions>,
    ) {
        self.link(from, to).conditions = conditions;
    }

    /// From now on nothing passes between the two, either way. What is under way still arrives.
    pub fn cut(&mut self, a: RegionId, b: RegionId) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// From now on nothing passes this way; the way back stays.
    pub fn cut_one_way(&mut self, from: RegionId, to: RegionId) {
        self.cuts.insert((from, to));
    }

    /// Undoes cuts between the two, both ways.
    pub fn heal(&mut self, a: RegionId, b: RegionId) {
        self.cuts.remove(&(a, b));
        self.cuts.remove(&(b, a));
    }

    /// From now on nothing passes to or from this server.
    pub fn isolate(&mut self, server: RegionId) {
        self.isolated.insert(server);
    }

    /// Undoes [`Self::isolate`]; cuts of single links stay.
    pub fn rejoin(&mut self, server: RegionId) {
        self.isolated.remove(&server);
    }

    /// Does anything pass this way at present?
    pub fn is_open(&self, from: RegionId, to: RegionId) -> bool {
        !self.isolated.contains(&from)
            && !self.isolated.contains(&to)
            && !self.cuts.contains(&(from, to))
    }

    /// Gives bytes to the network.
    pub fn send(&mut self, now: SimTime, from: RegionId, to: RegionId, bytes: Vec<u8>) {
        let open = self.is_open(from, to);
        let general = self.conditions;
        let link = self.link(from, to);
        let verdict = link.verdict(now, bytes.len(), open, general);
        let datagram = Datagram { from, to, bytes };
        let Some(Verdict { arrives, again }) = verdict else {
            return;
        };
        if let Some(again) = again {
            self.put(again, datagram.clone());
        }
        self.put(arrives, datagram);
    }

    fn put(&mut self, arrives: SimTime, datagram: Datagram) {
        self.sent += 1;
        self.under_way.push(Reverse(UnderWay {
            arrives,
            number: self.sent,
            datagram,
        }));
    }

    /// When the next datagram arrives.
    pub fn next_arrival(&self) -> Option<SimTime> {
        self.under_way.peek().map(|Reverse(first)| first.arrives)
    }

    /// The next datagram that has arrived by now.
    pub fn pop_arrival(&mut self, now: SimTime) -> Option<Datagram> {
        if self.next_arrival()? > now {
            return None;
        }
        self.under_way.pop().map(|Reverse(first)| first.datagram)
    }

    /// How many datagrams are under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// What has happened one way.
    pub fn link_stats(&self, from: RegionId, to: RegionId) -> LinkStats {
        self.links
            .get(&(from, to))
            .map_or_else(LinkStats::default, |link| link.stats)
    }

    /// What has happened on every way that was ever used, in the order of the servers' ids.
    pub fn all_links(&self) -> impl Iterator<Item = (RegionId, RegionId, LinkStats)> + '_ {
        self.links
            .iter()
            .map(|(&(from, to), link)| (from, to, link.stats))
    }

    /// What has happened on all together.
    pub fn stats(&self) -> LinkStats {
        self.links
            .values()
            .fold(LinkStats::default(), |sum, link| LinkStats {
                sent: sum.sent + link.stats.sent,
                bytes: sum.bytes + link.stats.bytes,
                lost: sum.lost + link.stats.lost,
                duplicated: sum.duplicated + link.stats.duplicated,
            })
    }

    fn link(&mut self, from: RegionId, to: RegionId) -> &mut Link {
        let seed = self.seed;
        self.links
            .entry((from, to))
            .or_insert_with(|| Link::new(seed, from, to))
    }
}

struct Verdict {
    arrives: SimTime,
    again: Option<SimTime>,
}

impl Link {
    fn new(seed: u64, from: RegionId, to: RegionId) -> Self {
        let name = [from.0.to_le_bytes(), to.0.to_le_bytes()].concat();
        Self {
            rng: Pcg64Mcg::seed_from_u64(xxh3_64_with_seed(&name, seed)),
            conditions: None,
            free_at: SimTime::ZERO,
            stats: LinkStats::default(),
        }
    }

    fn verdict(
        &mut self,
        now: SimTime,
        bytes: usize,
        open: bool,
        general: NetworkConditions,
    ) -> Option<Verdict> {
        let c = self.conditions.unwrap_or(general);
        let [lost, twice, held, jitter, jitter_again] = self.rng.random::<[f64; 5]>();
        self.stats.sent += 1;
        self.stats.bytes += bytes as u64;
        // A probability of one is always below it, of zero never: the dice show 0 ≤ x < 1.
        let departs = self
            .departure(now, bytes, &c)
            .filter(|_| open && lost >= c.loss);
        let Some(departs) = departs else {
            self.stats.lost += 1;
            return None;
        };
        let held_ms = if held < c.reorder { c.reorder_ms } else { 0.0 };
        let delay = |dice: f64, more_ms: f64| {
            let ms = c.latency_ms + (2.0 * dice - 1.0) * c.jitter_ms + more_ms;
            departs + SimTime::from_millis(ms)
        };
        let again = (twice < c.duplicate).then(|| delay(jitter_again, 0.0));
        self.stats.duplicated += u64::from(again.is_some());
        Some(Verdict {
            arrives: delay(jitter, held_ms),
            again,
        })
    }

    /// When the last byte is on the wire, unless the queue before it is too long.
    fn departure(
        &mut self,
        now: SimTime,
        bytes: usize,
        conditions: &NetworkConditions,
    ) -> Option<SimTime> {
        let Some(bandwidth) = conditions.bandwidth_bytes_per_sec else {
            return Some(now);
        };
        let starts = self.free_at.max(now);
        if starts.since(now) > MAX_QUEUE {
            return None;
        }
        self.free_at = starts + SimTime::from_secs(bytes as f64 / bandwidth);
        Some(self.free_at)
    }
}
