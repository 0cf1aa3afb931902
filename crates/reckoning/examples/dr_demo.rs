//! Tanks that see each other, over real UDP (DR-50). Four ways to run it:
//!
//! ```text
//! dr_demo server                        a server
//! dr_demo client --search               a client that looks for a server on this machine and in the local network
//! dr_demo client --ping localhost       a client that asks a given host
//! dr_demo both                          a server and a client in one program
//! ```
//!
//! Start a server and a few clients in as many terminals. Each client drives one tank round the buildings and prints
//! where it sees the others and how far that is from where they really are (their paths are known, so it can tell).

use domain::{BodyId, SimTime};
use glam::{DQuat, DVec3};
use reckoning::codec::{Datagram, Limits};
use reckoning::motion::{Thresholds, TrueState};
use reckoning::replication::{
    Client, ClientConfig, ClientEvent, DrObject, Server, ServerConfig, ServerEvent,
};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::f64::consts::TAU;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: dr_demo server | client --search | client --ping HOST | both
  --seconds S   stop after so long (default 30)
  --port P      the server's UDP port (default 28001)
  --help        this text";

/// The default port.
const PORT: u16 = 28_001;
/// The radius of the circles the tanks drive, metres: a figure of eight round two buildings.
const RADIUS_M: f64 = 6.0;
/// How fast they turn, rad/s.
const TURN_RATE: f64 = 1.6;
/// How long one wait for a datagram lasts.
const NAP: Duration = Duration::from_millis(2);

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// A server.
    Server,
    /// A client that searches.
    Search,
    /// A client that asks this host.
    Ping(String),
    /// Both in one program.
    Both,
}

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What to do.
    pub mode: Mode,
    /// For how long.
    pub seconds: f64,
    /// The server's port.
    pub port: u16,
}

/// What a client has seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The others, with the worst error of each after its first second in view, metres.
    pub others: BTreeMap<BodyId, f64>,
    /// Mean of all errors, metres.
    pub mean_error: f64,
    /// The clock's own bound at the end, milliseconds.
    pub clock_bound_ms: f64,
    /// The smoothed round trip at the end, milliseconds.
    pub round_trip_ms: f64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options, &mut io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dr_demo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line.
pub fn parse(arguments: &[String]) -> Result<Options, String> {
    let (mut mode, mut client, mut seconds, mut port) = (None, false, 30.0, PORT);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "server" => mode = Some(Mode::Server),
            "both" => mode = Some(Mode::Both),
            "client" => client = true,
            "--search" => mode = Some(Mode::Search),
            "--ping" => mode = Some(Mode::Ping(value()?.clone())),
            "--seconds" => seconds = number(value()?)?,
            "--port" => port = number(value()?)?,
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let mode = mode.ok_or("say what to run")?;
    if client != matches!(mode, Mode::Search | Mode::Ping(_)) {
        return Err("--search and --ping belong to client, and client needs one of them".into());
    }
    if !(0.0..1e9).contains(&seconds) {
        return Err("--seconds must be between 0 and 1e9".into());
    }
    Ok(Options {
        mode,
        seconds,
        port,
    })
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("{text} is not a number that fits"))
}

fn run(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let seconds = options.seconds;
    match &options.mode {
        Mode::Server => {
            let socket = UdpSocket::bind(("0.0.0.0", options.port))?;
            serve(&socket, seconds, out)
        }
        Mode::Search => {
            let server = find(&search_targets(options.port))?;
            play(server, seconds, out).map(drop)
        }
        Mode::Ping(host) => {
            let targets: Vec<_> = (host.as_str(), options.port).to_socket_addrs()?.collect();
            let server = find(&targets)?;
            play(server, seconds, out).map(drop)
        }
        Mode::Both => {
            let socket = UdpSocket::bind(("0.0.0.0", options.port))?;
            let own = SocketAddr::from(([127, 0, 0, 1], socket.local_addr()?.port()));
            std::thread::scope(|scope| {
                let server = scope.spawn(|| serve(&socket, seconds, &mut io::sink()));
                play(own, seconds, out)?;
                server.join().expect("the server does not panic")
            })
        }
    }
}

/// Where a server may be: on this machine, or anywhere in the local network.
pub fn search_targets(port: u16) -> [SocketAddr; 2] {
    [[127, 0, 0, 1], [255; 4]].map(|address| SocketAddr::from((address, port)))
}

/// Asks all of these until one answers, for at most five seconds.
pub fn find(targets: &[SocketAddr]) -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_broadcast(true)?;
    socket.set_read_timeout(Some(Duration::from_millis(250)))?;
    let asked = random();
    let question = encode(&Datagram::Discover { nonce: asked });
    let mut buffer = [0; 2048];
    for _ in 0..20 {
        for target in targets.iter().filter(|target| target.is_ipv4()) {
            // A network without a route for broadcasts still has this machine.
            let _ = socket.send_to(&question, target);
        }
        if let Ok((length, from)) = socket.recv_from(&mut buffer)
            && let Ok(Datagram::Found { nonce, .. }) =
                Datagram::decode(&buffer[..length], &Limits::ANY_TIME)
            && nonce == asked
        {
            return Ok(from);
        }
    }
    let problem = "no server answers; is one running, on this port?";
    Err(io::Error::new(io::ErrorKind::NotFound, problem))
}

/// Runs a server.
pub fn serve(socket: &UdpSocket, seconds: f64, out: &mut dyn Write) -> io::Result<()> {
    let secret = std::array::from_fn(|_| random() as u8);
    let mut server = Server::new(ServerConfig::default(), secret);
    let clock = Clock::start();
    socket.set_read_timeout(Some(NAP))?;
    writeln!(out, "server on {}", socket.local_addr()?)?;
    let mut buffer = [0; 2048];
    while clock.now().as_secs() < seconds {
        // A datagram that is refused changes nothing; on the open Internet that is daily weather.
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = server.handle_datagram(clock.now(), from, &buffer[..length]);
        }
        server.handle_tick(clock.now());
        while let Some((to, bytes)) = server.poll_transmit(clock.now()) {
            // Full buffers are losses like any other.
            let _ = socket.send_to(&bytes, to);
        }
        while let Some(event) = server.poll_event() {
            match event {
                ServerEvent::Joined { client, from } => {
                    writeln!(out, "client {} joined from {from}", client.0)?;
                }
                ServerEvent::Left(client) => writeln!(out, "client {} left", client.0)?,
                ServerEvent::Refused { client, error } => {
                    writeln!(out, "client {}: {error}", client.0)?;
                }
                ServerEvent::Called { .. } | ServerEvent::Acked { .. } => {}
            }
        }
    }
    Ok(())
}

/// Runs a client: drives one tank and watches the others.
pub fn play(server: SocketAddr, seconds: f64, out: &mut dyn Write) -> io::Result<Summary> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(NAP))?;
    let clock = Clock::start();
    let mut client = Client::new(ClientConfig::default(), random());
    let mut watch = Watch::default();
    let mut own = None;
    let mut report_at = 0.5;
    let mut buffer = [0; 2048];
    while clock.now().as_secs() < seconds {
        if let Ok(length) = socket.recv(&mut buffer) {
            // As at the server.
            let _ = client.handle_datagram(clock.now(), &buffer[..length]);
        }
        let now = clock.now();
        client.handle_tick(now);
        if let (Some(id), Some(global)) = (own, client.clock().now(now)) {
            let drive = client.observe(now, id, &path(id, global));
            drive.map_err(io::Error::other)?;
            watch.look(&client, now, global);
        }
        while let Some(bytes) = client.poll_transmit(clock.now()) {
            // Full buffers are losses like any other.
            let _ = socket.send(&bytes);
        }
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::Connected(number) => {
                    let id = BodyId(number.0.into());
                    let tank = DrObject::owned(id, thresholds());
                    client.own(now, tank).map_err(io::Error::other)?;
                    own = Some(id);
                    writeln!(out, "connected to {server} as client {}", number.0)?;
                }
                ClientEvent::Refused(reason) => return Err(io::Error::other(reason)),
                ClientEvent::Disconnected => {
                    let gone = "the server is gone";
                    return Err(io::Error::new(io::ErrorKind::ConnectionAborted, gone));
                }
                ClientEvent::Vanished(id) => writeln!(out, "tank {} left", id.0)?,
                _ => {}
            }
        }
        if now.as_secs() >= report_at {
            report_at += 0.5;
            watch.report(&client, now, own, out)?;
        }
    }
    let summary = watch.summary(&client, clock.now());
    client.disconnect();
    if let Some(goodbye) = client.poll_transmit(clock.now()) {
        socket.send(&goodbye)?;
    }
    writeln!(out, "{summary:?}")?;
    Ok(summary)
}

/// Where a tank really is: known to all, so that errors can be shown. It drives an eight round two buildings; where the
/// circles meet, the turn changes its direction at once. Each tank has its own pair of buildings.
fn path(id: BodyId, global: SimTime) -> TrueState {
    let turned = TURN_RATE * (global.as_secs() + 0.9 * id.0 as f64);
    let lap = (turned / TAU).floor();
    let direction = if (lap as u64).is_multiple_of(2) {
        1.0
    } else {
        -1.0
    };
    let (sin, cos) = (turned - lap * TAU).sin_cos();
    let forwards = DVec3::new(sin * direction, 0.0, cos);
    let velocity = forwards * (RADIUS_M * TURN_RATE);
    let spin = DVec3::new(0.0, direction * TURN_RATE, 0.0);
    TrueState {
        position: DVec3::new((1.0 - cos) * direction, 0.0, sin) * RADIUS_M
            + DVec3::new(0.0, 0.0, 15.0 * id.0 as f64),
        velocity,
        spin,
        acceleration: spin.cross(velocity),
        rotation: DQuat::from_rotation_arc(DVec3::Z, forwards),
        ..TrueState::default()
    }
}

fn thresholds() -> Thresholds {
    Thresholds {
        distance_m: 0.05,
        ..Thresholds::default()
    }
}

/// Keeps account of what a client sees.
#[derive(Debug, Default)]
struct Watch {
    seen_since: BTreeMap<BodyId, SimTime>,
    worst: BTreeMap<BodyId, f64>,
    sum: f64,
    count: u64,
}

impl Watch {
    fn look(&mut self, client: &Client, now: SimTime, global: SimTime) {
        for ghost in client.ghosts() {
            let Some(error) = error(client, now, global, ghost.id()) else {
                continue;
            };
            let since = *self.seen_since.entry(ghost.id()).or_insert(now);
            if now.since(since).as_secs() < 1.0 {
                continue;
            }
            let worst = self.worst.entry(ghost.id()).or_default();
            *worst = worst.max(error);
            self.sum += error;
            self.count += 1;
        }
    }

    fn report(
        &self,
        client: &Client,
        now: SimTime,
        own: Option<BodyId>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(global) = client.clock().now(now) else {
            return writeln!(out, "connecting");
        };
        write!(out, "t {:7.2} s", global.as_secs())?;
        for id in own.into_iter().chain(client.ghosts().map(DrObject::id)) {
            let Some(placed) = client.place(now, id) else {
                continue;
            };
            let (x, z) = (placed.position.x, placed.position.z);
            let name = if Some(id) == own { "me" } else { "tank" };
            write!(out, " | {name} {} at ({x:6.2}, {z:6.2})", id.0)?;
            if let (Some(error), true) = (error(client, now, global, id), Some(id) != own) {
                write!(out, " off by {error:.3} m")?;
            }
        }
        writeln!(out)
    }

    fn summary(&self, client: &Client, now: SimTime) -> Summary {
        let bound = client.clock().error_bound(now).unwrap_or_default();
        let link = client.link();
        Summary {
            others: self.worst.clone(),
            mean_error: self.sum / self.count.max(1) as f64,
            clock_bound_ms: bound.as_millis(),
            round_trip_ms: link.map_or(0.0, |l| l.connection.round_trip().smoothed().as_millis()),
        }
    }
}

fn error(client: &Client, now: SimTime, global: SimTime, id: BodyId) -> Option<f64> {
    let placed = client.place(now, id)?;
    Some(placed.position.distance(path(id, global).position))
}

/// The local clock: starts at zero with the program, so every program's shows something else.
struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn now(&self) -> SimTime {
        SimTime(self.0.elapsed().as_nanos() as u64)
    }
}

/// Enough chance for a demo: the standard library seeds each of these afresh.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn encode(datagram: &Datagram) -> Vec<u8> {
    datagram.encode().expect("only packets can be unsendable")
}
