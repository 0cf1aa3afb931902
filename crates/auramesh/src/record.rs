//! `auramesh record`: a run into a file, from the simulator or from a live gateway.

use crate::Status;
use crate::args::RecordArgs;
use crate::cluster_process::{block_on, ended, start_logging, stop_signal};
use crate::coordinator::world_of;
use crate::output::print;
use crate::progress::Progress;
use client::{Client, Options};
use client_protocol::{Inspect, Layers, ToClient};
use cluster::gateway::{Recorder, RecorderSettings};
use cluster::schema::WorldOptions;
use domain::{BodyId, SimTime};
use recording::{Header, SIMULATED_START, TrackId, WriteError, Writer};
use scenes::Scene;
use simulator::{SimOptions, Simulation};
use std::cell::RefCell;
use std::fs::File;
use std::io::BufWriter;
use std::rc::Rc;
use std::time::Duration;

/// No recording becomes longer than this unless told otherwise.
pub const MOST_MB: u64 = 1024;
/// A live gateway is asked to tell everything anew so often.
const KEY_EVERY: Duration = Duration::from_secs(2);
/// The environment variable with the token for a live gateway.
const TOKEN_VARIABLE: &str = "AURAMESH_TOKEN";
/// The name of the only track.
const TRACK: &str = "world";

type Out = Writer<BufWriter<File>>;

/// Records.
pub fn run(args: &RecordArgs) -> Status {
    start_logging("warn");
    ended(match &args.connect {
        Some(url) => block_on(record_live(args, url)).and_then(|result| result),
        None => record_simulated(args),
    })
}

fn begin(args: &RecordArgs, header: &Header) -> Result<(Out, TrackId), String> {
    let name = args.out.display();
    let file = File::create(&args.out).map_err(|error| format!("cannot write {name}: {error}"))?;
    let begun = Writer::new(BufWriter::new(file), header).and_then(|writer| {
        let mut writer = writer.with_limit(args.max_mb * 1024 * 1024);
        let track = writer.track(TRACK)?;
        Ok((writer, track))
    });
    begun.map_err(|error| format!("{name}: {error}"))
}

fn about(pairs: &[(&str, String)]) -> Vec<(String, String)> {
    let version = (
        "producer",
        format!("auramesh {}", env!("CARGO_PKG_VERSION")),
    );
    let pairs = [&[version], pairs].concat();
    let pairs = pairs.into_iter();
    pairs.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// What has come of it so far.
struct Tape {
    recorder: Recorder,
    out: Out,
    track: TrackId,
    frames: u64,
    failed: Option<WriteError>,
}

impl Tape {
    fn write(&mut self) {
        for frame in self.recorder.take_frames() {
            if self.failed.is_some() {
                return;
            }
            let (time, messages) = (frame.time.0, &frame.messages);
            let written = match frame.is_key {
                true => self.out.key(self.track, time, messages),
                false => self.out.messages(self.track, time, messages),
            };
            self.failed = written.err();
            self.frames += 1;
        }
    }
}

/// Under virtual time: the same build, scene and options give the same bytes.
fn record_simulated(args: &RecordArgs) -> Result<(), String> {
    let name = args.scene.as_deref().unwrap_or_default();
    let scene = Scene::load(name).map_err(|error| error.to_string())?;
    let options = SimOptions {
        servers: args.servers,
        layout: args.layout,
        seed: args.seed,
        seconds: args.seconds,
        network: args.net.unwrap_or(SimOptions::default().network),
        faults: args.faults.clone(),
        checkers: false,
        ..SimOptions::default()
    };
    let mut world = world_of(
        name,
        &WorldOptions {
            layout: args.layout,
            regions: args.servers,
            seed: args.seed,
            ..WorldOptions::default()
        },
    )?;
    world.start_unix_ns = Some(SIMULATED_START);
    let servers = world.map.len();
    let seed = world.seed;
    let header = Header {
        start: SIMULATED_START,
        title: scene.name.clone(),
        about: about(&[
            ("scene", name.to_owned()),
            ("servers", servers.to_string()),
            ("seed", seed.to_string()),
        ]),
    };
    let mut simulation =
        Simulation::new(&scene, &options).map_err(|error| format!("{name}: {error}"))?;
    let settings = RecorderSettings {
        picked: picked(args),
        ..RecorderSettings::default()
    };
    let recorder = Recorder::new(world, settings).map_err(|error| error.to_string())?;
    let (out, track) = begin(args, &header)?;
    let tape = Rc::new(RefCell::new(Tape {
        recorder,
        out,
        track,
        frames: 0,
        failed: None,
    }));
    let shared = Rc::clone(&tape);
    simulation.look(Box::new(move |look| {
        let mut tape = shared.borrow_mut();
        let record = look.record;
        let events = [look.between, &record.before_step, &record.after_step];
        tape.recorder
            .handle_tick(look.now, look.region, &events, look.bytes_sent);
        tape.write();
    }));
    let progress = Progress::new("recording");
    simulation.run(|share| progress.set(share));
    drop(progress);
    let tape = Rc::into_inner(tape).ok_or("the run has not ended")?;
    let tape = tape.into_inner();
    let (frames, bodies) = (tape.frames, tape.recorder.bodies());
    finish(
        args,
        tape.out,
        tape.failed,
        frames,
        &format!("{bodies} bodies at the end"),
    )
}

fn picked(args: &RecordArgs) -> Vec<BodyId> {
    args.pick.iter().copied().map(BodyId).collect()
}

/// What was recorded is kept, even if it became too much.
fn finish(
    args: &RecordArgs,
    out: Out,
    failed: Option<WriteError>,
    frames: u64,
    more: &str,
) -> Result<(), String> {
    let name = args.out.display();
    let (bytes, keys) = (out.bytes(), out.keys());
    let full = matches!(failed, Some(WriteError::Full(_)));
    if let Some(error) = failed {
        if !full {
            return Err(format!("{name}: {error}"));
        }
        eprintln!("{name}: {error} (--max-mb allows more); the rest was not recorded");
    }
    out.finish().map_err(|error| format!("{name}: {error}"))?;
    print(&format!(
        "{name}: {frames} frames, {keys} keys, {bytes} bytes, {more}\n`auramesh replay {name}` shows it.\n"
    ));
    match full {
        true => Err(format!("{name} ends early")),
        false => Ok(()),
    }
}

// ── a live gateway ─────────────────────────────────────────────────────────────────────────────────────────────────

/// `http://host:port/` and `ws://host:port/ws` are the same gateway.
fn socket_address(url: &str) -> String {
    let rest = url.strip_prefix("http://").map(|rest| ("ws", rest));
    let rest = rest.or_else(|| url.strip_prefix("https://").map(|rest| ("wss", rest)));
    match rest {
        Some((scheme, rest)) => {
            let host = rest.split(['/', '?']).next().unwrap_or_default();
            format!("{scheme}://{host}/ws")
        }
        None => url.to_owned(),
    }
}

async fn record_live(args: &RecordArgs, url: &str) -> Result<(), String> {
    let (tap, mut messages) = tokio::sync::mpsc::unbounded_channel();
    let options = Options {
        token: std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
        tap: Some(tap),
        ..Options::default()
    };
    let mut stop = stop_signal();
    let connected = Client::connect(&socket_address(url), options).await;
    let mut client = connected.map_err(|error| format!("{url}: {error}"))?;
    let inspect = Inspect {
        layers: Layers::ALL,
        picked: picked(args),
    };
    client
        .inspect(inspect)
        .await
        .map_err(|error| error.to_string())?;
    let mut live = LiveTape::default();
    let mut anew = tokio::time::interval(KEY_EVERY);
    anew.tick().await;
    // Once before the first interval: the clock is known by then.
    let first = tokio::time::sleep(Duration::from_millis(600));
    tokio::pin!(first);
    let mut asked_first = false;
    let failed = loop {
        let over = |live: &LiveTape| args.seconds.is_some_and(|most| live.seconds() >= most);
        tokio::select! {
            () = cluster::node::stopped(&mut stop) => break None,
            () = &mut first, if !asked_first => {
                asked_first = true;
                let _ = client.ask_anew().await;
            }
            _ = anew.tick() => {
                let _ = client.ask_anew().await;
            }
            message = messages.recv() => {
                let Some((local, bytes)) = message else {
                    eprintln!("the connection has ended");
                    break None;
                };
                client.take_events();
                let time = client.look(|scene| scene.cluster_time(local));
                if asked_first
                    && let Some(time) = time
                    && let Err(error) = live.take(args, url, time, bytes)?
                {
                    break Some(error);
                }
                if over(&live) {
                    break None;
                }
            }
        }
    };
    let Some((out, _)) = live.out else {
        return Err(format!("{url}: nothing came that could be recorded"));
    };
    finish(args, out, failed, live.frames, "recorded live")
}

/// A recording of a live world.
#[derive(Default)]
struct LiveTape {
    out: Option<(Out, TrackId)>,
    start: SimTime,
    time: u64,
    /// A key that is not complete yet: everything up to the first update.
    key: Option<Vec<Vec<u8>>>,
    frames: u64,
}

impl LiveTape {
    fn seconds(&self) -> f64 {
        self.time as f64 * 1e-9
    }

    /// Takes one message; the inner error ends the recording, the outer one its file.
    fn take(
        &mut self,
        args: &RecordArgs,
        url: &str,
        now: SimTime,
        bytes: Vec<u8>,
    ) -> Result<Result<(), WriteError>, String> {
        let is_update = match ToClient::decode(&bytes) {
            Ok(ToClient::Welcome(_)) => {
                self.key = Some(Vec::new());
                false
            }
            Ok(ToClient::Update { .. }) => true,
            Ok(
                ToClient::World(_)
                | ToClient::Statics(_)
                | ToClient::Forms(_)
                | ToClient::Features(_)
                | ToClient::Inspection { .. },
            ) => false,
            // Answers to us are nobody else's business.
            _ => return Ok(Ok(())),
        };
        if self.out.is_none() {
            if self.key.is_none() {
                return Ok(Ok(()));
            }
            let header = Header {
                start: now.0,
                title: url.to_owned(),
                about: about(&[("gateway", url.to_owned())]),
            };
            self.start = now;
            self.out = Some(begin(args, &header)?);
        }
        let Some((out, track)) = &mut self.out else {
            return Ok(Ok(()));
        };
        // The clock may be put right a little.
        self.time = self.time.max(now.since(self.start).0);
        self.frames += u64::from(is_update);
        let Some(mut key) = self.key.take() else {
            return Ok(out.messages(*track, self.time, &[bytes]));
        };
        key.push(bytes);
        if !is_update {
            self.key = Some(key);
            return Ok(Ok(()));
        }
        Ok(out.key(*track, self.time, &key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_and_its_socket_are_the_same_gateway() {
        for url in [
            "http://127.0.0.1:8080/",
            "http://127.0.0.1:8080",
            "ws://127.0.0.1:8080/ws",
        ] {
            assert_eq!(socket_address(url), "ws://127.0.0.1:8080/ws");
        }
        assert_eq!(
            socket_address("https://example.org/x?y"),
            "wss://example.org/ws"
        );
    }
}
