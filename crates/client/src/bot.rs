//! A player without eyes: for load tests.

use crate::Boxed;
use crate::connection::{Client, ClientError};
use crate::options::Options;
use crate::scene::Event;
use client_protocol::{Area, Spawn};
use domain::{BodyId, Rect, Shape};
use glam::{DVec3, Vec3};
use rand::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::time::{Duration, Instant};

/// What a bot does.
#[derive(Clone, Debug)]
pub struct BotSettings {
    /// How it connects.
    pub options: Options,
    /// For how long.
    pub duration: Duration,
    /// The side of the square that it watches, metres; `None`: everything.
    pub sight_m: Option<f64>,
    /// How often it spawns, pushes or removes something; `None`: it only looks.
    pub mischief: Option<Duration>,
    /// What it does follows from this.
    pub seed: u64,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self {
            options: Options {
                poses: false,
                ..Options::default()
            },
            duration: Duration::from_secs(10),
            sight_m: None,
            mischief: None,
            seed: 1,
        }
    }
}

/// What a bot has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BotReport {
    /// For how long it was connected, seconds.
    pub secs: f64,
    /// Updates that came.
    pub updates: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// The longest time between two updates, seconds.
    pub longest_gap_secs: f64,
    /// Times that no update came for more than 0.1 s.
    pub gaps: u64,
    /// Frames of the world between the first and the last update.
    pub frames: u64,
    /// Times that it was told everything anew because it was too slow.
    pub restarts: u64,
    /// Bodies in sight at the end.
    pub bodies: usize,
    /// Commands that were done.
    pub commands: u64,
    /// Commands that were refused.
    pub refused: u64,
}

/// A client that moves about and now and then does something.
pub struct Bot {
    client: Client,
    settings: BotSettings,
    random: Pcg64,
    mine: Vec<BodyId>,
    report: BotReport,
}

impl Bot {
    /// Connects.
    pub fn connect(url: &str, settings: BotSettings) -> Boxed<'_, Result<Self, ClientError>> {
        Box::pin(async move {
            let mut options = settings.options.clone();
            if settings.sight_m.is_some() {
                // What it wants to see depends on where the world is.
                options.area = Area::Nothing;
            }
            let client = Client::connect(url, options).await?;
            Ok(Self {
                client,
                random: Pcg64::seed_from_u64(settings.seed),
                settings,
                mine: Vec::new(),
                report: BotReport::default(),
            })
        })
    }

    /// Lives its life.
    pub fn run(mut self) -> Boxed<'static, Result<BotReport, ClientError>> {
        Box::pin(async move {
            let start = Instant::now();
            let end = tokio::time::Instant::now() + self.settings.duration;
            let mut walk = tokio::time::interval(Duration::from_millis(1000));
            let mischief = self.settings.mischief.unwrap_or(Duration::from_secs(3600));
            let mut mischief =
                tokio::time::interval_at(tokio::time::Instant::now() + mischief, mischief);
            let mut last: Option<Instant> = None;
            let mut first_frame = None;
            loop {
                tokio::select! {
                    event = self.client.next_event() => match event {
                        Some(Event::Updated { frame }) => {
                            let now = Instant::now();
                            if let Some(last) = last {
                                let gap = now.duration_since(last).as_secs_f64();
                                self.report.longest_gap_secs = self.report.longest_gap_secs.max(gap);
                                self.report.gaps += u64::from(gap > 0.1);
                            }
                            last = Some(now);
                            let first = *first_frame.get_or_insert(frame);
                            self.report.frames = frame.saturating_sub(first);
                        }
                        Some(_) => {}
                        None => return Err(ClientError::Closed),
                    },
                    _ = walk.tick(), if self.settings.sight_m.is_some() => self.walk().await?,
                    _ = mischief.tick() => self.act().await?,
                    () = tokio::time::sleep_until(end) => break,
                }
            }
            let traffic = self.client.traffic();
            self.report.secs = start.elapsed().as_secs_f64();
            self.report.updates = traffic.updates;
            self.report.bytes = traffic.bytes;
            self.report.restarts = traffic.restarts;
            self.report.bodies = self.client.look(|scene| scene.bodies().len());
            Ok(self.report)
        })
    }

    fn chance(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn place(&mut self) -> Option<DVec3> {
        let extent = self.client.look(|scene| scene.world().map(|w| w.extent))?;
        let [width, depth] = extent.size();
        let x = extent.min[0] + width * self.chance();
        let z = extent.min[1] + depth * self.chance();
        Some(DVec3::new(x, 8.0, z))
    }

    async fn walk(&mut self) -> Result<(), ClientError> {
        let (Some(middle), Some(side)) = (self.place(), self.settings.sight_m) else {
            return Ok(());
        };
        let around = Rect {
            min: [middle.x - side / 2.0, middle.z - side / 2.0],
            max: [middle.x + side / 2.0, middle.z + side / 2.0],
        };
        self.client.subscribe(Area::Rect(around)).await
    }

    async fn act(&mut self) -> Result<(), ClientError> {
        let chance = self.chance();
        let done = match self.mine.last().copied() {
            Some(body) if self.mine.len() > 5 || chance < 0.2 => {
                self.mine.pop();
                self.client.remove(body).await
            }
            Some(body) if chance < 0.6 => self.client.impulse(body, Vec3::Y * 500.0).await,
            _ => {
                let Some(place) = self.place() else {
                    return Ok(());
                };
                let spawn = Spawn::new(Shape::Sphere { radius: 0.4 }, place);
                let spawned = self.client.spawn(spawn).await;
                spawned.map(|body| self.mine.push(body))
            }
        };
        match done {
            Ok(()) => self.report.commands += 1,
            Err(
                ClientError::Refused(_)
                | ClientError::Forbidden(_)
                | ClientError::NotFound
                | ClientError::NoAnswer,
            ) => self.report.refused += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
