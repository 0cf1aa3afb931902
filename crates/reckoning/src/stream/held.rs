//! The curves a client keeps of a body.
//!
//! More than the newest: what is shown lags behind what is known, and packets are relative to what the server knows to be
//! here, which is older still.

/// Curves kept of a body, at most.
const MOST_CURVES: usize = 64;
/// Curves kept before the one that packets are relative to: what is shown lags behind what is known.
const KEPT_BEFORE_BASE: usize = 8;

/// A curve, the packet that brought it, and the acknowledgement that first told of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held<C> {
    pub(crate) packet: u64,
    pub(crate) told_in: u64,
    pub(crate) curve: C,
}

/// The curves of one kind of a body, by packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Track<C> {
    held: Vec<Held<C>>,
    /// Nothing was dropped yet: before its first curve the body did not exist.
    whole: bool,
}

impl<C: Copy> Track<C> {
    pub(crate) fn new() -> Self {
        Self {
            held: Vec::new(),
            whole: true,
        }
    }

    /// What a packet relative to an acknowledgement is relative to: the newest curve told of by then.
    pub(crate) fn base(&self, relative_to: u64) -> Option<&C> {
        self.base_at(relative_to).map(|at| &self.held[at].curve)
    }

    fn base_at(&self, relative_to: u64) -> Option<usize> {
        self.held
            .iter()
            .rposition(|held| held.told_in <= relative_to)
    }

    pub(crate) fn insert(&mut self, held: Held<C>, relative_to: u64) {
        let at = self
            .held
            .partition_point(|other| other.packet < held.packet);
        self.held.insert(at, held);
        let unneeded = self.base_at(relative_to).unwrap_or(0);
        let excess = unneeded
            .saturating_sub(KEPT_BEFORE_BASE)
            .max(self.held.len().saturating_sub(MOST_CURVES));
        self.whole &= excess == 0;
        self.held.drain(..excess);
    }

    /// The newest curve that has begun by then.
    pub(crate) fn at(&self, tick: f64, start: impl Fn(&C) -> u64) -> Option<&C> {
        let begun = |held: &&Held<C>| start(&held.curve) as f64 <= tick;
        let newest = self.held.iter().rev().find(begun);
        let newest = newest.or_else(|| self.held.first().filter(|_| !self.whole));
        newest.map(|held| &held.curve)
    }

    /// The one of the newest packet.
    pub(crate) fn newest(&self) -> Option<&C> {
        self.held.last().map(|held| &held.curve)
    }
}
