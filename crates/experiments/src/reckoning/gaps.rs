//! How long a receiver has to wait for a vector, counted in triggers (DR-34).

use reckoning::fairness::{PolicyTag, ReceiverId, Rehearsal};

/// The longest gap between two vectors to the same receiver of a policy, up to the newest that can have arrived. Exact where
/// nothing is lost or overtaken on the way.
pub(super) fn longest(rehearsal: &Rehearsal, tag: PolicyTag) -> u32 {
    let recipients = rehearsal.sender().recipients(tag).iter();
    let gaps = recipients.map(|one| longest_of(rehearsal, tag, one.id));
    gaps.max().unwrap_or(0)
}

/// The same of one receiver.
pub(super) fn longest_of(rehearsal: &Rehearsal, tag: PolicyTag, id: ReceiverId) -> u32 {
    let followed = rehearsal.followed(tag, id);
    let seqs: Vec<u32> = followed
        .iter()
        .map(|reception| reception.vector.seq.0)
        .collect();
    let gaps = seqs.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or(u32::MAX)
}
