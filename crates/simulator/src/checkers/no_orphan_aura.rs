//! I6: after quiescence no aura is without its body, no body that should project is without its aura.

use super::Checker;
use super::findings::{ErrorKind, Finding, Findings, View, describe};
use super::ledger::Holder;
use crate::facts::{AuraHeld, Fact, Projecting};
use domain::{BodyId, Tick};
use rustc_hash::FxHashSet;

pub(super) struct NoOrphanAura;

impl Checker for NoOrphanAura {
    fn observe(&mut self, fact: &Fact<'_>, view: &View<'_>, findings: &mut Findings) {
        let Fact::Quiescent {
            tick,
            auras,
            projecting,
        } = *fact
        else {
            return;
        };
        let mut report = Reporter {
            tick,
            view,
            findings,
        };
        let due: Vec<AuraHeld> = projecting.iter().flat_map(auras_due).collect();
        check_held(auras, projecting, &mut report);
        check_due(auras, &due, &mut report);
        check_owners(projecting, &mut report);
    }
}

struct Reporter<'a, 'b> {
    tick: Tick,
    view: &'a View<'b>,
    findings: &'a mut Findings,
}

impl Reporter<'_, '_> {
    fn add(&mut self, body: BodyId, what: impl FnOnce() -> String) {
        let finding = Finding {
            kind: ErrorKind::OrphanAura,
            count: 1,
            tick: self.tick,
            bodies: &[body],
            excused: false,
        };
        self.findings.add(self.view, finding, what);
    }
}

/// The auras that others must hold of a projecting body.
fn auras_due(projecting: &Projecting) -> impl Iterator<Item = AuraHeld> + '_ {
    projecting.audience.iter().map(|holder| AuraHeld {
        holder: *holder,
        owner: projecting.owner,
        body: projecting.body,
        epoch: projecting.epoch,
    })
}

fn key(aura: &AuraHeld) -> (u32, u32, BodyId, u32) {
    (aura.holder.0, aura.owner.0, aura.body, aura.epoch.0)
}

/// Who holds an aura does not matter: strays are known to more than the neighbours.
fn check_held(held: &[AuraHeld], projecting: &[Projecting], report: &mut Reporter<'_, '_>) {
    let due: FxHashSet<_> = projecting
        .iter()
        .map(|p| (p.owner, p.body, p.epoch))
        .collect();
    let is_due = |aura: &&AuraHeld| due.contains(&(aura.owner, aura.body, aura.epoch));
    for aura in held.iter().filter(|aura| !is_due(aura)) {
        let AuraHeld {
            holder,
            owner,
            body,
            epoch,
        } = aura;
        report.add(*body, || {
            format!("{holder} holds an aura of {body} ({epoch}) from {owner}, who has no reason to project it")
        });
    }
}

fn check_due(held: &[AuraHeld], due: &[AuraHeld], report: &mut Reporter<'_, '_>) {
    let held: FxHashSet<_> = held.iter().map(key).collect();
    for aura in due.iter().filter(|aura| !held.contains(&key(aura))) {
        let AuraHeld {
            holder,
            owner,
            body,
            epoch,
        } = aura;
        report.add(*body, || {
            format!("{body} ({epoch}) of {owner} is near its border, but {holder} does not hold its aura")
        });
    }
}

fn check_owners(projecting: &[Projecting], report: &mut Reporter<'_, '_>) {
    for Projecting { owner, body, .. } in projecting {
        let holder = report.view.ledger.holder(*body);
        if holder != Some(Holder::Owned(*owner)) {
            let place = holder.map_or("never born".to_string(), describe);
            report.add(*body, || {
                format!("{owner} projects {body}, which is {place}")
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checkers::testing::{History, held, projecting};

    fn settled() -> History {
        let mut history = History::new(3);
        history.born(0, 0, 1, 0.0);
        history
    }

    // AP-21
    #[test]
    fn every_aura_with_its_body_is_silent() {
        let mut history = settled();
        history.quiescent(
            9,
            &[held(1, 0, 1, 0), held(2, 0, 1, 0)],
            &[projecting(0, 1, 0, &[1, 2])],
        );
        assert!(history.finish().is_clean());
    }

    // AP-21, F12
    #[test]
    fn an_aura_without_its_body_is_seen() {
        let mut history = settled();
        history.quiescent(9, &[held(1, 0, 1, 0)], &[]);
        let report = history.finish();
        assert_eq!(report.errors.orphan_auras, 1);
        let text = report.first_violation.unwrap().what;
        assert!(
            text.starts_with("r1 holds an aura of b1 (e0) from r0"),
            "{text}"
        );
    }

    #[test]
    fn a_body_without_its_aura_an_old_aura_and_a_false_owner_are_seen() {
        let mut history = settled();
        history.quiescent(9, &[], &[projecting(0, 1, 0, &[1])]);
        assert_eq!(history.errors().orphan_auras, 1);
        let mut history = settled();
        history.quiescent(9, &[held(1, 0, 1, 7)], &[projecting(0, 1, 0, &[1])]);
        assert_eq!(history.errors().orphan_auras, 2, "one too old, one missing");
        let mut history = settled();
        history.quiescent(9, &[held(1, 2, 1, 0)], &[projecting(2, 1, 0, &[1])]);
        assert_eq!(history.errors().orphan_auras, 1);
    }
}
