//! What the sides of a duel saw, side by side in one recording: a track each on the time they share, with a note at every hit.

use client::stations::duel::{AVATARS, HALF_WIDTH_M, Report, SIDES};
use client_protocol::RegionMark;
use domain::{BodyId, Motion, Rect, RegionId, Shape, SimTime, TickLength};
use glam::{DVec3, Quat, Vec3};
use recording::{Header, Pose, PoseSettings, PoseTrack, SIMULATED_START, WriteError, Writer};
use station::{Station, StationId, View};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Frames of the recording per second.
const RATE: f64 = 60.0;
const RADIUS_M: f32 = 0.5;

/// One frame of one side.
struct Glimpse {
    at: SimTime,
    /// Of both avatars: where they are shown and how they move.
    shown: [(DVec3, DVec3); 2],
}

/// All frames of one side.
#[derive(Default)]
pub struct Film {
    glimpses: Vec<Glimpse>,
}

impl Film {
    /// Takes in what a station shows now; nothing while its clock is not known.
    pub fn take(&mut self, station: &Station) {
        let views = AVATARS.map(|body| station.view(body));
        let (Some(at), [Some(one), Some(other)]) = (station.shared_now(), views) else {
            return;
        };
        // A correction of the clock may set it back a little.
        if self.glimpses.last().is_none_or(|last| last.at < at) {
            let shown = |view: View| (view.scene.position, view.scene.velocity);
            self.glimpses.push(Glimpse {
                at,
                shown: [shown(one), shown(other)],
            });
        }
    }

    fn span(&self) -> Option<(SimTime, SimTime)> {
        Some((self.glimpses.first()?.at, self.glimpses.last()?.at))
    }

    /// Both avatars at a time within the span.
    fn at(&self, at: SimTime) -> [(DVec3, DVec3); 2] {
        let after = self.glimpses.partition_point(|one| one.at < at);
        let next = &self.glimpses[after.min(self.glimpses.len() - 1)];
        let before = &self.glimpses[after.saturating_sub(1).min(self.glimpses.len() - 1)];
        let whole = next.at.since(before.at).as_secs();
        let share = if whole > 0.0 {
            (at.since(before.at).as_secs() / whole).min(1.0)
        } else {
            0.0
        };
        [0, 1].map(|body| {
            let (here, _) = before.shown[body];
            let (there, velocity) = next.shown[body];
            (here.lerp(there, share), velocity)
        })
    }
}

fn pose(body: BodyId, owner: usize, (position, velocity): (DVec3, DVec3)) -> Pose {
    Pose {
        body,
        owner: RegionId(owner as u32),
        motion: Motion {
            position,
            rotation: Quat::IDENTITY,
            linear_velocity: velocity.as_vec3(),
            angular_velocity: Vec3::ZERO,
        },
        shape: Shape::Sphere { radius: RADIUS_M },
    }
}

fn settings() -> PoseSettings {
    let half = |from: f64, to: f64| Rect {
        min: [from, -HALF_WIDTH_M],
        max: [to, HALF_WIDTH_M],
    };
    let mark = |rect: Rect, name: &str| RegionMark {
        rect,
        server: name.to_owned(),
    };
    PoseSettings {
        name: "duel".to_owned(),
        frame: TickLength::from_secs(1.0 / RATE).expect("above zero"),
        gravity: DVec3::ZERO,
        extent: half(-HALF_WIDTH_M, HALF_WIDTH_M),
        owners: vec![
            mark(half(-HALF_WIDTH_M, 0.0), "first"),
            mark(half(0.0, HALF_WIDTH_M), "second"),
        ],
        scenery: Vec::new(),
        tolerance_m: 0.01,
        key_frames: 2 * RATE as u64,
        start: SIMULATED_START,
    }
}

fn name(side: StationId) -> &'static str {
    ["first", "second"][usize::from(side != SIDES[0])]
}

/// Writes all films into one file.
pub fn write(
    path: &Path,
    films: &[Film],
    reports: &[Report],
    about: Vec<(String, String)>,
) -> Result<(), String> {
    let spans: Option<Vec<(SimTime, SimTime)>> = films.iter().map(Film::span).collect();
    let spans = spans.filter(|spans| !spans.is_empty());
    let spans = spans.ok_or("a side has seen nothing: its clock was never known")?;
    let from = spans.iter().map(|span| span.0).max().unwrap_or_default();
    let to = spans.iter().map(|span| span.1).min().unwrap_or_default();
    let shown = path.display();
    let file = File::create(path).map_err(|error| format!("cannot write {shown}: {error}"))?;
    let header = Header {
        start: SIMULATED_START,
        title: match reports {
            [one] => format!("a duel, as the {} side saw it", name(one.side)),
            _ => "a duel, as both sides saw it".to_owned(),
        },
        about,
    };
    let written = tracks(BufWriter::new(file), &header, films, reports, (from, to));
    written.map_err(|error| format!("{shown}: {error}"))
}

fn tracks(
    out: BufWriter<File>,
    header: &Header,
    films: &[Film],
    reports: &[Report],
    (from, to): (SimTime, SimTime),
) -> Result<(), WriteError> {
    let mut writer = Writer::new(out, header)?;
    let mut tracks = Vec::new();
    for report in reports {
        tracks.push(PoseTrack::new(&mut writer, name(report.side), settings())?);
    }
    let frames = (to.since(from).as_secs() * RATE) as u64;
    let mut told = vec![0; films.len()];
    for frame in 0..frames {
        let at = from + SimTime::from_secs(frame as f64 / RATE);
        for (side, track) in tracks.iter_mut().enumerate() {
            let shown = films[side].at(at);
            let poses = [0, 1].map(|body| pose(AVATARS[body], body, shown[body]));
            track.frame(&mut writer, &poses)?;
            let report = &reports[side];
            while let Some(hit) = report.hits.get(told[side]).filter(|hit| hit.at <= at) {
                told[side] += 1;
                let time = (frame as f64 / RATE * 1e9).round() as u64;
                let text = format!(
                    "{}: hit {} ({:?}), decided by {}",
                    name(report.side),
                    hit.index,
                    hit.cause,
                    name(hit.author)
                );
                writer.note(track.id(), time, &text)?;
            }
        }
    }
    writer.finish().map(drop)
}
