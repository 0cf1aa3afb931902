//! What was refused. Nothing that is counted here has changed anything.

/// Counts by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// An object nobody has announced.
    pub unknown_object: u64,
    /// A state not newer than what is known.
    pub stale_state: u64,
    /// Numbers that are no state of anything, or of the wrong kind of object.
    pub impossible_state: u64,
    /// An allocation that is not the receiver's.
    pub wrong_epoch: u64,
    /// A sender that is not known, no member of the group it speaks in, or not the owner of what it speaks of.
    pub stranger: u64,
    /// A message its sender has no business sending.
    pub misdirected: u64,
    /// A ballot in a vote that is not running, or by someone who has none, or a second one.
    pub bad_ballot: u64,
    /// A request for a vote that makes no sense.
    pub bad_request: u64,
    /// A round trip that cannot be, or an answer to no question.
    pub absurd_ping: u64,
}

impl Rejections {
    /// All together.
    pub fn total(&self) -> u64 {
        self.unknown_object
            + self.stale_state
            + self.impossible_state
            + self.wrong_epoch
            + self.stranger
            + self.misdirected
            + self.bad_ballot
            + self.bad_request
            + self.absurd_ping
    }
}
