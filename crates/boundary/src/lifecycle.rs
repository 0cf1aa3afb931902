//! The life of a body on one server (thesis 4.4), as a state machine whose every transition is checked.
//!
//! ```text
//! (network) ► Received ► Injected ◄ (spawn)
//!                          │ ╲ ╲
//!                          ▼  ╲ ╲───────────────────────────╮
//!                     HostRegion ◄──► IntersectingBoundary ◄──► BoundaryTraversed
//!                          │                  │                     │
//!                          ╰──────────────► Sent ◄──────────────────╯ ► Destroyed
//! ```
//! Auras are projected in `IntersectingBoundary` and `BoundaryTraversed` and nowhere else. One addition of ours: a spawn
//! announced near a border projects while it is still `Injected` (see [`crate::nursery`]).

use domain::{BodyId, Tick};
use serde::{Deserialize, Serialize};

/// Where a body is in its life on this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LifeState {
    /// Came in an offer.
    Received,
    /// Created in the engine.
    Injected,
    /// In its host's region, away from every boundary.
    HostRegion,
    /// Touches a trigger boundary.
    IntersectingBoundary,
    /// Wholly outside its host's region.
    BoundaryTraversed,
    /// Put into an offer.
    Sent,
    /// No longer here.
    Destroyed,
}

impl LifeState {
    /// Does a body in this state project an aura?
    pub fn projects(self) -> bool {
        matches!(self, Self::IntersectingBoundary | Self::BoundaryTraversed)
    }

    /// Is the step from this state to `next` in the thesis's diagram? A body may be so fast that it passes over
    /// `IntersectingBoundary` within one step; that is the composition of two drawn steps and legal.
    pub fn may_become(self, next: Self) -> bool {
        use LifeState::*;
        matches!(
            (self, next),
            (Received, Injected)
                | (
                    Injected,
                    HostRegion | IntersectingBoundary | BoundaryTraversed | Sent
                )
                | (
                    HostRegion,
                    IntersectingBoundary | BoundaryTraversed | Sent
                )
                | (IntersectingBoundary, HostRegion | BoundaryTraversed | Sent)
                | (BoundaryTraversed, HostRegion | IntersectingBoundary | Sent)
                | (Sent, Destroyed)
                // Removed by a user, or found on restart to have a newer owner.
                | (
                    Received | Injected | HostRegion | IntersectingBoundary | BoundaryTraversed,
                    Destroyed
                )
        )
    }
}

/// One step of one body's life, for traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// When.
    pub tick: Tick,
    /// Whose.
    pub body: BodyId,
    /// From which state; `None` if it was not here before.
    pub from: Option<LifeState>,
    /// To which state.
    pub to: LifeState,
}

/// Moves `state` to `next` and reports the step. Staying is not a step.
///
/// # Panics
/// If the diagram has no such step: that is a bug of ours, not of the input.
pub fn change(
    state: &mut LifeState,
    next: LifeState,
    tick: Tick,
    body: BodyId,
) -> Option<Transition> {
    if *state == next {
        return None;
    }
    assert!(
        state.may_become(next),
        "body {body} at tick {tick}: {state:?} never becomes {next:?}"
    );
    let from = Some(std::mem::replace(state, next));
    Some(Transition {
        tick,
        body,
        from,
        to: next,
    })
}

#[cfg(test)]
mod tests {
    use super::LifeState::*;
    use super::*;

    const ALL: [LifeState; 7] = [
        Received,
        Injected,
        HostRegion,
        IntersectingBoundary,
        BoundaryTraversed,
        Sent,
        Destroyed,
    ];

    /// AP-24: every transition of the table in 2.17 exists.
    #[test]
    fn the_thesis_diagram_is_complete() {
        for (from, to) in [
            (Received, Injected),
            (Injected, HostRegion),
            (Injected, IntersectingBoundary),
            (Injected, BoundaryTraversed),
            (Injected, Sent),
            (HostRegion, IntersectingBoundary),
            (HostRegion, Sent),
            (IntersectingBoundary, HostRegion),
            (IntersectingBoundary, BoundaryTraversed),
            (IntersectingBoundary, Sent),
            (BoundaryTraversed, IntersectingBoundary),
            (BoundaryTraversed, Sent),
            (Sent, Destroyed),
        ] {
            assert!(from.may_become(to), "{from:?} -> {to:?}");
        }
    }

    /// AP-24: nothing comes back from the dead or enters by a side door.
    #[test]
    fn nothing_returns_from_sent_or_destroyed() {
        for state in ALL {
            assert!(!Destroyed.may_become(state));
            assert!(!state.may_become(Received));
            assert_eq!(Sent.may_become(state), state == Destroyed);
            assert!(state == Received || !state.may_become(Injected));
        }
    }

    #[test]
    #[should_panic(expected = "never becomes")]
    fn an_illegal_transition_asserts() {
        let mut state = Sent;
        change(&mut state, HostRegion, Tick(3), BodyId(7));
    }

    #[test]
    fn auras_are_projected_in_two_states_only() {
        let projecting: Vec<_> = ALL.into_iter().filter(|s| s.projects()).collect();
        assert_eq!(projecting, [IntersectingBoundary, BoundaryTraversed]);
    }
}
