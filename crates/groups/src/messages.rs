//! Everything that is said, by whom to whom, and how it may travel (thesis §3.6 of the digest's catalogue).
//!
//! ```text
//!              Join, Alive, Candidates, VoteRequest, VoteCast, Started, Leave
//!   node  ─────────────────────────────────────────────────────────────────────►  coordinator
//!         ◄─────────────────────────────────────────────────────────────────────
//!              Welcome, Populate, AskCandidates, Allocate, VoteCall, Unknown, Exit
//!
//!              Ready, Results                          AvatarUpdate, Results
//!   node  ──────────────────►  leader of its group  ──────────────────────────►  coordinator
//!         ◄──────────────────                       ◄──────────────────────────
//!              Start, Dispatch, NodeUpdate, Correction    AvatarUpdate, Correction
//!
//!   node  ◄── Replicate, Transfer ──►  node of its group          node  ◄── Ping, Pong ──►  any node
//!   client ── AvatarUpdate ──►  leader or coordinator  ── AvatarResult ──►  client
//!   leader ── Agreement ──►  coordinator  ── Agreement ──►  leader of another group
//! ```

use crate::{
    Address, Ballot, ClientId, Environment, GroupEpoch, GroupId, MachineId, NodeId, ObjectInfo,
    ObjectState, Population, VoteId, VoteKind,
};

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Node → coordinator: I want to simulate.
    Join {
        /// What I run on.
        machine: MachineId,
    },
    /// Node or client → coordinator: I am going.
    Leave,
    /// Node or client → coordinator: I am still here.
    Alive,
    /// Node → coordinator: how far everyone is from me, average round trips in milliseconds.
    Candidates {
        /// Which question this answers.
        round: u64,
        /// By node.
        delays: Vec<(NodeId, f32)>,
    },
    /// Node → coordinator: there should be a vote.
    VoteRequest {
        /// In or out?
        kind: VoteKind,
        /// Who?
        about: NodeId,
    },
    /// Node → coordinator: what I say.
    VoteCast {
        /// In which vote.
        vote: VoteId,
        /// What.
        ballot: Ballot,
    },
    /// Leader → coordinator: my group works together under this allocation.
    Started {
        /// Which.
        epoch: GroupEpoch,
    },
    /// Coordinator → node: you are in; this is the world.
    Welcome {
        /// Your name.
        node: NodeId,
        /// The world.
        environment: Environment,
    },
    /// Coordinator → nodes: who and what there is now.
    Populate(Population),
    /// Coordinator → nodes: how far is everyone from you?
    AskCandidates {
        /// To be repeated in the answer.
        round: u64,
    },
    /// Coordinator → node: a new allocation. Simulate everything until its leader says start.
    Allocate {
        /// Of this allocation.
        epoch: GroupEpoch,
        /// Your group.
        group: GroupId,
        /// Its members, you among them.
        members: Vec<NodeId>,
        /// All objects as the coordinator last heard of them from this group. Where an object is *here* decides who holds it
        /// at the start: everyone has the same list.
        objects: Vec<ObjectState>,
    },
    /// Coordinator → members: what do you say?
    VoteCall {
        /// To be repeated in the answer.
        vote: VoteId,
        /// In or out?
        kind: VoteKind,
        /// Who?
        about: NodeId,
    },
    /// Coordinator → whoever it does not know (any more): join again.
    Unknown,
    /// Coordinator → node or client: the world ends.
    Exit,
    /// Member → leader: I have the allocation and simulate for myself.
    Ready {
        /// Which.
        epoch: GroupEpoch,
    },
    /// Leader → members: all are ready; each its own part from now on.
    Start {
        /// Which.
        epoch: GroupEpoch,
    },
    /// Member → leader, leader → coordinator: what has become of objects.
    Results {
        /// Under which allocation.
        epoch: GroupEpoch,
        /// In synchronised operation: the iteration that is done.
        iteration: u64,
        /// At most one state per object.
        states: Vec<ObjectState>,
    },
    /// Leader → members: avatars that are yours, and ones that are no longer; in synchronised operation also: go on.
    Dispatch {
        /// Under which allocation.
        epoch: GroupEpoch,
        /// In synchronised operation: the iteration that begins.
        iteration: u64,
        /// State, and whether the receiver is responsible for it.
        states: Vec<(ObjectState, bool)>,
    },
    /// Leader → member: what it must know of the group's objects without owning them.
    NodeUpdate {
        /// Under which allocation.
        epoch: GroupEpoch,
        /// At most one state per object.
        states: Vec<ObjectState>,
    },
    /// Leader → members, coordinator → leaders: opinions differed; this is the truth.
    Correction {
        /// The receiver's allocation.
        epoch: GroupEpoch,
        /// At most one state per object.
        states: Vec<ObjectState>,
    },
    /// Member → member: objects that reach into your sub-space. May be lost. Empty: I am still here.
    Replicate {
        /// Under which allocation.
        epoch: GroupEpoch,
        /// At most one state per object.
        states: Vec<ObjectState>,
    },
    /// Member → member: objects that are yours now. Must not be lost.
    Transfer {
        /// Under which allocation.
        epoch: GroupEpoch,
        /// They were mine under the allocation before; the allocation itself gave them to you.
        hand_off: bool,
        /// At most one state per object.
        states: Vec<ObjectState>,
    },
    /// Node → node: answer at once.
    Ping {
        /// To be sent back.
        nonce: u64,
    },
    /// Node → node: here.
    Pong {
        /// What was asked.
        nonce: u64,
    },
    /// Client → coordinator: I want to act, with these avatars. Their keys are still without my name.
    ClientJoin {
        /// What I run on.
        machine: MachineId,
        /// What I bring.
        avatars: Vec<ObjectInfo>,
    },
    /// Coordinator → client: you are in, or: talk to someone else from now on.
    ClientHome {
        /// Your name.
        client: ClientId,
        /// Whom to tell what you do: your group's leader, or the coordinator.
        home: Address,
        /// What that one runs on.
        machine: MachineId,
    },
    /// Client → leader or coordinator → leaders: where avatars are now, by their clients' will.
    AvatarUpdate {
        /// At most one state per avatar.
        states: Vec<ObjectState>,
    },
    /// Leader or coordinator → client: what has become of your avatars.
    AvatarResult {
        /// At most one state per avatar.
        states: Vec<ObjectState>,
    },
    /// Leader → coordinator → leader of another group: what two groups say to each other about avatars that may meet (motion-lock). The
    /// groups only carry it; who made the bytes has sealed them.
    Agreement {
        /// On the way to the coordinator: whom it is for. On the way from it: who said it.
        group: GroupId,
        /// At most [`MAX_AGREEMENT_BYTES`].
        bytes: Vec<u8>,
    },
}

/// The longest [`Message::Agreement`]: one datagram.
pub const MAX_AGREEMENT_BYTES: usize = 1400;

/// The separate streams between two parties (thesis §4.3.1; ST-42): nothing waits behind something of another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Who is who and who has what.
    Admin,
    /// States, by way of leaders and the coordinator.
    Object,
    /// States, between members.
    Peer,
    /// Pings.
    Ping,
}

/// Must it arrive?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In order, once, however often it has to be sent.
    Reliable,
    /// Perhaps.
    Unreliable,
}

/// How streams travel (ST-48); chosen separately for what goes through leaders and the coordinator, and between members.
/// Administration and transfers are always reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportChoice {
    /// States by way of leaders and the coordinator (default unreliable).
    pub object: Delivery,
    /// Replicates between members (default unreliable).
    pub peer: Delivery,
}

impl Default for TransportChoice {
    fn default() -> Self {
        Self {
            object: Delivery::Unreliable,
            peer: Delivery::Unreliable,
        }
    }
}

impl TransportChoice {
    /// What a mode needs: who waits for a report must get it.
    pub fn of(mode: crate::Mode) -> Self {
        let object = match mode {
            crate::Mode::Synchronised => Delivery::Reliable,
            crate::Mode::Unsynchronised => Delivery::Unreliable,
        };
        Self {
            object,
            ..Self::default()
        }
    }
}

impl Message {
    /// The stream it belongs to.
    pub fn stream(&self) -> Stream {
        match self {
            Self::Results { .. }
            | Self::Dispatch { .. }
            | Self::NodeUpdate { .. }
            | Self::Correction { .. }
            | Self::AvatarUpdate { .. }
            | Self::AvatarResult { .. }
            | Self::Agreement { .. } => Stream::Object,
            Self::Replicate { .. } | Self::Transfer { .. } => Stream::Peer,
            Self::Ping { .. } | Self::Pong { .. } => Stream::Ping,
            _ => Stream::Admin,
        }
    }

    /// How it travels (ST-52).
    pub fn delivery(&self, choice: TransportChoice) -> Delivery {
        match self {
            Self::Transfer { .. } => Delivery::Reliable,
            // Late news of a hit are worth nothing; whoever says it repeats it.
            Self::Agreement { .. } => Delivery::Unreliable,
            _ => match self.stream() {
                Stream::Admin => Delivery::Reliable,
                Stream::Object => choice.object,
                Stream::Peer => choice.peer,
                Stream::Ping => Delivery::Unreliable,
            },
        }
    }

    /// Its name, for people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Join { .. } => "Join",
            Self::Leave => "Leave",
            Self::Alive => "Alive",
            Self::Candidates { .. } => "Candidates",
            Self::VoteRequest { .. } => "VoteRequest",
            Self::VoteCast { .. } => "VoteCast",
            Self::Started { .. } => "Started",
            Self::Welcome { .. } => "Welcome",
            Self::Populate(_) => "Populate",
            Self::AskCandidates { .. } => "AskCandidates",
            Self::Allocate { .. } => "Allocate",
            Self::VoteCall { .. } => "VoteCall",
            Self::Unknown => "Unknown",
            Self::Exit => "Exit",
            Self::Ready { .. } => "Ready",
            Self::Start { .. } => "Start",
            Self::Results { .. } => "Results",
            Self::Dispatch { .. } => "Dispatch",
            Self::NodeUpdate { .. } => "NodeUpdate",
            Self::Correction { .. } => "Correction",
            Self::Replicate { .. } => "Replicate",
            Self::Transfer { .. } => "Transfer",
            Self::Ping { .. } => "Ping",
            Self::Pong { .. } => "Pong",
            Self::ClientJoin { .. } => "ClientJoin",
            Self::ClientHome { .. } => "ClientHome",
            Self::AvatarUpdate { .. } => "AvatarUpdate",
            Self::AvatarResult { .. } => "AvatarResult",
            Self::Agreement { .. } => "Agreement",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ST-42, ST-48, ST-52: separate streams; administration and transfers are reliable whatever is chosen.
    #[test]
    fn st_52_what_must_not_be_lost_is_not() {
        let (epoch, states) = (GroupEpoch(1), Vec::new());
        let transfer = Message::Transfer {
            epoch,
            hand_off: false,
            states: states.clone(),
        };
        let replicate = Message::Replicate {
            epoch,
            states: states.clone(),
        };
        let results = Message::Results {
            epoch,
            iteration: 0,
            states,
        };
        let tcp_for_peers = TransportChoice {
            object: Delivery::Unreliable,
            peer: Delivery::Reliable,
        };
        for choice in [TransportChoice::default(), tcp_for_peers] {
            for must in [
                &transfer,
                &Message::Leave,
                &Message::Start { epoch },
                &Message::VoteRequest {
                    kind: VoteKind::Inclusion,
                    about: NodeId(1),
                },
            ] {
                assert_eq!(must.delivery(choice), Delivery::Reliable, "{}", must.name());
            }
            assert_eq!(replicate.delivery(choice), choice.peer);
            assert_eq!(results.delivery(choice), choice.object);
            assert_eq!(
                Message::Ping { nonce: 1 }.delivery(choice),
                Delivery::Unreliable
            );
        }
        let streams = [
            &Message::Leave,
            &results,
            &replicate,
            &Message::Ping { nonce: 1 },
        ]
        .map(Message::stream);
        assert_eq!(
            streams,
            [Stream::Admin, Stream::Object, Stream::Peer, Stream::Ping]
        );
    }
}
