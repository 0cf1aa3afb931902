//! AC: migration by aura collision (thesis Algorithm 1).
//!
//! One of my bodies touches a remote aura: it goes to the aura's owner, and with it the whole closure of what
//! it may interact with, each once, in this tick. Everything that could call the body back goes along, so three bodies of three servers do
//! not throw it to and fro.

use crate::aura_index::AuraIndex;
use crate::remote_auras::RemoteAura;
use crate::tie_break;
use crate::view::BodyView;
use domain::{BodyId, RegionId};
use wire::ClusterKey;

/// An aura that calls a body over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Whose server.
    pub owner: RegionId,
    /// Whose aura.
    pub aura: BodyId,
    /// Its rank.
    pub key: ClusterKey,
    /// How deep the body is in it.
    pub depth_m: f64,
}

impl Call {
    /// With the tie-break a body in several auras follows the one of the lowest rank: nobody will call that one away, so
    /// one move is enough (AP-16). Without it, the deepest; ties go to the lowest server, then body.
    fn is_stronger_than(&self, other: &Self, tie_break: bool) -> bool {
        if tie_break && self.key != other.key {
            return self.key < other.key;
        }
        (other.depth_m, self.owner, self.aura)
            .partial_cmp(&(self.depth_m, other.owner, other.aura))
            .is_some_and(std::cmp::Ordering::is_lt)
    }
}

/// **AC**, the decision for one body: which aura calls it over, if any?
///
/// `key_towards` gives the body's rank if the aura's owner knows that it projects, else `None`: then it always moves.
pub fn strongest_call(
    body: &BodyView,
    index: &AuraIndex,
    tie_break: bool,
    key_towards: impl Fn(RegionId) -> Option<ClusterKey>,
) -> Option<Call> {
    let mut strongest: Option<Call> = None;
    index.for_each_touched(body, |aura_body, aura: &RemoteAura, depth_m| {
        if aura_body == body.id {
            return;
        }
        if tie_break && !tie_break::moves(key_towards(aura.owner), aura.key) {
            return;
        }
        let call = Call {
            owner: aura.owner,
            aura: aura_body,
            key: aura.key,
            depth_m,
        };
        if strongest.is_none_or(|known| call.is_stronger_than(&known, tie_break)) {
            strongest = Some(call);
        }
    });
    strongest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::AuraGeometry;
    use crate::remote_auras::RemoteAuras;
    use crate::testing::{ball, safe};
    use domain::{Epoch, Rect, Tick};
    use glam::DVec3;
    use wire::AuraUpsert;

    fn key(since: u64, body: u64) -> ClusterKey {
        ClusterKey {
            class: 0,
            since: Tick(since),
            body: BodyId(body),
        }
    }

    fn aura(body: u64, x: f64) -> AuraUpsert {
        aura_since(4, body, x)
    }

    fn aura_since(since: u64, body: u64, x: f64) -> AuraUpsert {
        AuraUpsert {
            body: BodyId(body),
            epoch: Epoch(0),
            tick: Tick(10),
            centre: DVec3::new(x, 0.0, 0.0),
            radius: 0.5,
            spine: glam::Vec3::ZERO,
            reach: 2.0,
            growth: 0.0,
            key: key(since, body),
        }
    }

    fn call(auras: &[(u32, AuraUpsert)], x: f64, mine: Option<ClusterKey>) -> Option<Call> {
        call_with(true, auras, x, mine)
    }

    fn call_with(
        tie_break: bool,
        auras: &[(u32, AuraUpsert)],
        x: f64,
        mine: Option<ClusterKey>,
    ) -> Option<Call> {
        let mut remote = RemoteAuras::default();
        for (owner, upsert) in auras {
            remote.upsert(RegionId(*owner), upsert);
        }
        let geometry = AuraGeometry::of(&safe());
        let index = AuraIndex::build(&remote, &geometry, Tick(10), &Rect::EVERYWHERE);
        strongest_call(&ball(1, x, 0.0, 0.5), &index, tie_break, |_| mine)
    }

    /// AP-11: touching sends the body to the aura's owner, not touching does not.
    #[test]
    fn a_body_that_touches_an_aura_is_called_by_its_owner() {
        let auras = [(3, aura(7, 0.0))];
        assert_eq!(call(&auras, 2.9, None).expect("touches").owner, RegionId(3));
        assert_eq!(call(&auras, 3.1, None), None);
    }

    /// without the tie-break, of several auras the deepest calls.
    #[test]
    fn the_deepest_aura_wins() {
        let auras = [(3, aura(7, -2.0)), (2, aura(8, 1.5)), (1, aura(9, -2.0))];
        let deepest = call_with(false, &auras, 0.0, None).expect("touches");
        assert_eq!(deepest.aura, BodyId(8));
        let symmetric = [(3, aura(7, -2.0)), (1, aura(9, 2.0))];
        let lowest = call_with(false, &symmetric, 0.0, None).expect("touches");
        assert_eq!(lowest.owner, RegionId(1));
    }

    /// AP-16: with it, the one that will stay where it is.
    #[test]
    fn the_aura_of_the_lowest_rank_wins() {
        let auras = [(3, aura_since(2, 7, -2.0)), (2, aura_since(3, 8, 1.5))];
        let strongest = call(&auras, 0.0, None).expect("touches");
        assert_eq!((strongest.owner, strongest.key), (RegionId(3), key(2, 7)));
    }

    /// The tie-break applies only to bodies the owner knows of.
    #[test]
    fn the_older_cluster_stays() {
        let auras = [(3, aura(7, 0.0))];
        assert_eq!(call(&auras, 1.0, Some(key(3, 1))), None);
        assert!(call(&auras, 1.0, Some(key(5, 1))).is_some());
    }
}
