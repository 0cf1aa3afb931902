//! What a receiver of vectors reports back: which arrived, and when (DR-17).
//!
//! The fairness ledgers of the sender need reception times on the global clock. They ride in packets that leave anyway; since
//! the connection says which packets arrived, a reception is repeated only until the report is known to have arrived, and
//! costs some 5 bytes.

use super::connection::PacketId;
use crate::Seq;
use crate::codec::{Message, PacketWriter, VectorAck};
use crate::fairness::{ACK_PAIRS, Ack, PolicyTag};
use domain::{BodyId, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Stream = (BodyId, PolicyTag);

/// Receptions that the sender may not know of yet.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    open: BTreeMap<Stream, Vec<(Seq, SimTime)>>,
    due: BTreeSet<Stream>,
    flights: VecDeque<(PacketId, Vec<(Stream, Seq)>)>,
}

impl Reports {
    /// Nothing to report.
    pub fn new() -> Self {
        Self::default()
    }

    /// A vector arrived at this global time, new or not.
    pub fn note(&mut self, entity: BodyId, policy: PolicyTag, seq: Seq, received: SimTime) {
        let stream = (entity, policy);
        let open = self.open.entry(stream).or_default();
        if open.iter().any(|(known, _)| *known == seq) {
            return;
        }
        if open.len() == ACK_PAIRS {
            open.remove(0);
        }
        open.push((seq, received));
        self.due.insert(stream);
    }

    /// The object is gone; so is the interest in it.
    pub fn forget(&mut self, entity: BodyId) {
        let gone = |stream: &Stream| stream.0 == entity;
        self.open.retain(|stream, _| !gone(stream));
        self.due.retain(|stream| !gone(stream));
    }

    /// Is there anything to put into a packet?
    pub fn wants_to_send(&self) -> bool {
        !self.due.is_empty()
    }

    /// Puts as many reports into a packet as fit.
    pub fn fill(&mut self, id: PacketId, packet: &mut PacketWriter) {
        let mut carried = Vec::new();
        while let Some(stream) = self.due.first().copied() {
            let pairs = self.open.get(&stream).cloned().unwrap_or_default();
            carried.extend(pairs.iter().map(|(seq, _)| (stream, *seq)));
            let report = Message::Ack(VectorAck {
                entity: stream.0,
                policy: stream.1,
                ack: Ack { pairs },
            });
            if packet.push(&report) == Ok(false) {
                carried.retain(|(other, _)| *other != stream);
                break;
            }
            self.due.remove(&stream);
        }
        if !carried.is_empty() {
            self.flights.push_back((id, carried));
        }
    }

    /// Learns what became of a packet.
    pub fn settle(&mut self, id: PacketId, delivered: bool) {
        let Ok(index) = self.flights.binary_search_by_key(&id, |(id, _)| *id) else {
            return;
        };
        let (_, carried) = self.flights.remove(index).unwrap_or_default();
        for (stream, seq) in carried {
            let Some(open) = self.open.get_mut(&stream) else {
                continue;
            };
            let still_open = open.iter().any(|(known, _)| *known == seq);
            if delivered {
                open.retain(|(known, _)| *known != seq);
            } else if still_open {
                self.due.insert(stream);
            }
            if open.is_empty() {
                self.open.remove(&stream);
                self.due.remove(&stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Datagram, Limits, PacketHeader, Token};

    fn packet(reports: &mut Reports, number: u64) -> Vec<(Seq, SimTime)> {
        let header = PacketHeader {
            token: Token(1),
            number: number as u16,
            answer: false,
            acks: None,
            time: None,
        };
        let mut writer = PacketWriter::new(&header, 1200);
        reports.fill(PacketId(number), &mut writer);
        let Ok(Datagram::Packet { messages, .. }) =
            Datagram::decode(&writer.finish(), &Limits::ANY_TIME)
        else {
            panic!("a packet");
        };
        let pairs = |message| match message {
            Message::Ack(report) => report.ack.pairs,
            other => panic!("{other:?}"),
        };
        messages.into_iter().flat_map(pairs).collect()
    }

    // DR-17: each reception is reported, through any loss, and not for ever.
    #[test]
    fn dr_17_a_reception_is_reported_until_the_report_arrived() {
        let mut reports = Reports::new();
        let at = |seq: u32| (Seq(seq), SimTime(u64::from(seq) * 1_000_000));
        let note = |reports: &mut Reports, seq| {
            reports.note(BodyId(5), PolicyTag(2), at(seq).0, at(seq).1);
        };
        note(&mut reports, 1);
        assert_eq!(packet(&mut reports, 1), [at(1)]);
        assert!(!reports.wants_to_send());
        note(&mut reports, 2);
        assert_eq!(
            packet(&mut reports, 2),
            [at(1), at(2)],
            "1 is not known yet"
        );
        reports.settle(PacketId(1), true);
        reports.settle(PacketId(2), false);
        assert_eq!(packet(&mut reports, 3), [at(2)]);
        reports.settle(PacketId(3), true);
        assert!(!reports.wants_to_send());
        assert!(reports.open.is_empty() && reports.flights.is_empty());
    }

    #[test]
    fn a_silent_other_side_costs_bounded_memory_and_a_gone_object_none() {
        let mut reports = Reports::new();
        for seq in 1..100 {
            reports.note(BodyId(5), PolicyTag(0), Seq(seq), SimTime(seq.into()));
        }
        assert_eq!(packet(&mut reports, 1).len(), ACK_PAIRS);
        reports.forget(BodyId(5));
        reports.settle(PacketId(1), false);
        assert!(!reports.wants_to_send());
        assert!(reports.open.is_empty());
    }
}
