//! What is said and done on a stage, as text that a person can review: complete, in order, one line each.

use crate::common::{Line, Stage};
use boundary::Transition;
use domain::{BodyId, ContactEnd, Tick};
use region::{MovedBody, RegionEvent};
use std::fmt::Write;
use wire::{AuraUpsert, HandoverCause, Message, Offer};

/// A stage whose every word is written down.
pub struct Transcript {
    pub stage: Stage,
    pub lives: Vec<(u32, Transition)>,
    text: String,
    // Ticks in which nothing but the same auras were told again, not yet written.
    again: Option<(Vec<String>, Tick)>,
}

impl Transcript {
    pub fn of(stage: Stage) -> Self {
        Self {
            stage,
            lives: Vec::new(),
            text: String::new(),
            again: None,
        }
    }

    /// Lets time pass and writes down what happens.
    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            let lines = self.stage.tick();
            self.write(&lines);
        }
    }

    /// Something that the stage does not say by itself.
    pub fn note(&mut self, what: &str) {
        self.close();
        writeln!(self.text, "({what})").expect("text");
    }

    pub fn finish(mut self) -> (String, Vec<(u32, Transition)>) {
        self.close();
        (self.text, self.lives)
    }

    fn write(&mut self, lines: &[Line]) {
        if lines.is_empty() {
            self.close();
            return;
        }
        let auras: Option<Vec<String>> = lines.iter().map(who_tells_whom).collect();
        if let (Some(auras), Some((told, last))) = (&auras, &mut self.again)
            && auras == told
        {
            *last = self.stage.now();
            return;
        }
        self.close();
        writeln!(self.text, "tick {}", self.stage.now()).expect("text");
        for line in lines {
            self.write_line(line);
        }
        self.again = auras.map(|auras| (auras, self.stage.now()));
    }

    /// Writes how long the auras were told again.
    fn close(&mut self) {
        let written = self
            .text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("tick "));
        let written = written.and_then(|tick| tick.parse().ok()).map(Tick);
        if let Some((_, last)) = self.again.take()
            && written.is_some_and(|tick| tick < last)
        {
            writeln!(self.text, "  and again, every tick, until tick {last}").expect("text");
        }
    }

    fn write_line(&mut self, line: &Line) {
        match line {
            Line::Said { from, to, message } => {
                writeln!(self.text, "  {from} -> {to}  {}", said(message))
            }
            Line::Happened { region, event } => {
                if let RegionEvent::Life(transition) = event {
                    self.lives.push((region.0, *transition));
                }
                writeln!(self.text, "  {region}: {}", happened(event))
            }
        }
        .expect("text");
    }
}

/// For an aura: whose, from whom to whom, in which ownership and of which reach; `None` for anything else.
fn who_tells_whom(line: &Line) -> Option<String> {
    let (from, to, upsert) = line.upsert()?;
    let AuraUpsert { body, epoch, .. } = upsert;
    Some(format!("{from} {to} {body} {epoch} {:.2}", upsert.reach))
}

fn said(message: &Message) -> String {
    match message {
        Message::AuraUpsert(aura) => format!(
            "AuraUpsert {} {} x={:.2} z={:.2} radius={:.2} reach={:.2} growth={:.2} since={} key={}",
            aura.body,
            aura.epoch,
            aura.centre.x,
            aura.centre.z,
            aura.radius,
            aura.reach,
            aura.growth,
            aura.key.since,
            aura.key.body,
        ),
        Message::AuraDelete(aura) => {
            let moved_to = aura.moved_to.map(|new| format!(" moved_to={}", new.region));
            let moved_to = moved_to.unwrap_or_default();
            format!(
                "AuraDelete {} {} tick={}{moved_to}",
                aura.body, aura.epoch, aura.tick
            )
        }
        Message::Offer(offer) => said_offer(offer),
        Message::Accept { handover } => format!("Accept #{}", handover.0),
        Message::Release { handover } => format!("Release #{}", handover.0),
        Message::Introduce { visitors } => {
            let regions: Vec<_> = visitors.iter().map(|visitor| visitor.region).collect();
            format!("Introduce {}", list(&regions))
        }
        Message::SnapshotCovers { tick, upto } => {
            format!("SnapshotCovers tick={tick} up to #{}", upto.0)
        }
        Message::Restarted {
            snapshot,
            incarnation,
        } => format!("Restarted snapshot={snapshot} incarnation={incarnation}"),
        Message::Recovery { known } => {
            let known = known
                .iter()
                .map(|it| format!("{} {} {}", it.body, it.epoch, it.owner));
            format!("Recovery known=[{}]", known.collect::<Vec<_>>().join(", "))
        }
    }
}

fn said_offer(offer: &Offer) -> String {
    let members = offer.cluster.bodies.iter().zip(&offer.members);
    let members = members.map(|(body, member)| format!(" {} {}", body.id, member.epoch));
    let unborn = offer
        .unborn
        .iter()
        .map(|unborn| format!(" unborn {}", unborn.body.id));
    let who: String = members.chain(unborn).collect();
    format!(
        "Offer #{} tick={} {}:{who}",
        offer.handover.0,
        offer.tick,
        because(&offer.cause)
    )
}

fn because(cause: &HandoverCause) -> String {
    match cause {
        HandoverCause::AuraCollision { member, aura } => {
            format!("{member} touches the aura of {aura}")
        }
        HandoverCause::BoundaryTraversal => "island".into(),
        HandoverCause::CentreCrossed => "centre crossed".into(),
    }
}

fn happened(event: &RegionEvent) -> String {
    match event {
        RegionEvent::Born { body, .. } => format!("{} is born", body.id),
        RegionEvent::Departed { to, members, .. } => {
            format!("{} to {to}", moved(members, "departs"))
        }
        RegionEvent::CaughtUp { tick, bodies, .. } => {
            let ids: Vec<BodyId> = bodies.iter().map(|(id, _)| *id).collect();
            format!("{} caught up to tick {tick}", list(&ids))
        }
        RegionEvent::Arrived { from, members, .. } => {
            format!("{} from {from}", moved(members, "arrives"))
        }
        RegionEvent::Contact { contact, .. } => match contact.b {
            ContactEnd::Body(other) => format!("{} and {other} touch", contact.a),
            ContactEnd::Static(other) => format!("{} and static {other} touch", contact.a),
        },
        RegionEvent::Life(life) => {
            let from = life
                .from
                .map_or("nowhere".into(), |from| format!("{from:?}"));
            format!("{} goes from {from} to {:?}", life.body, life.to)
        }
        RegionEvent::Recovered { bodies, .. } => moved(bodies, "recovered"),
        RegionEvent::Refused { from, why, .. } => format!("refused an offer of {from}: {why}"),
        RegionEvent::Broken { body, why, .. } => format!("{body} is broken: {why}"),
        RegionEvent::NotBorn { body, why, .. } => format!("{body} is not born: {why}"),
    }
}

fn moved(members: &[MovedBody], what: &str) -> String {
    let ids: Vec<BodyId> = members.iter().map(|member| member.body).collect();
    format!("{} {what}", list(&ids))
}

fn list(names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    format!("[{}]", names.join(", "))
}
