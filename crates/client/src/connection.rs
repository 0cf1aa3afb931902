//! A scene driven over a connection to a gateway.

use crate::Boxed;
use crate::link::Link;
use crate::options::Options;
use crate::scene::{Event, Scene, SceneError, Traffic};
use client_protocol::{
    Answer, Area, Command, EmulatedNetwork, Goodbye, Hello, Hit, Injection, Inspect, Malformed,
    RegionPlan, SceneChoice, Spawn, StaticPiece, ToClient, ToGateway, VERSION,
};
use domain::{BodyId, Shape, SimTime, StaticId};
use glam::{DVec3, Quat, Vec3};
use reckoning::stream::Shown;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::tungstenite;

/// How often the gateway is asked for the time, at first and later.
const FIRST_PINGS: (u32, Duration) = (5, Duration::from_millis(100));
const PINGS: Duration = Duration::from_secs(2);
/// Events that nobody has asked for; more are dropped.
const MOST_EVENTS: usize = 65_536;
const MOST_WISHES: usize = 256;
/// A gateway that says nothing for so long, although it is asked for the time, is gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
/// A gateway that cannot be reached is tried again after this, and after ever more, up to the second.
const RETRIES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// Why something did not work.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The address is none.
    #[error("'{0}' is no address: ws://HOST:PORT/ws, wss://HOST:PORT/ws, https://HOST:PORT/wt")]
    BadUrl(String),
    /// The address needs TLS.
    #[error("this program was built without TLS: build it with the feature tls")]
    NoTls,
    /// Certificates that cannot be used.
    #[error("certificates: {0}")]
    Tls(String),
    /// The network.
    #[error("the connection is lost: {0}")]
    Lost(String),
    /// The network, or the gateway's refusal.
    #[error("cannot connect: {0}")]
    Connection(#[from] Box<tungstenite::Error>),
    /// The gateway has ended the connection.
    #[error("the gateway says goodbye ({reason:?}): {text}")]
    Goodbye {
        /// Why.
        reason: Goodbye,
        /// In words.
        text: String,
    },
    /// The connection is gone.
    #[error("the connection has ended")]
    Closed,
    /// The gateway says something that makes no sense.
    #[error("not understood: {0}")]
    Malformed(#[from] Malformed),
    /// The same.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// No answer came.
    #[error("no answer in time")]
    NoAnswer,
    /// It cannot be done.
    #[error("refused: {0}")]
    Refused(String),
    /// You may not.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// There is no such body.
    #[error("there is no such body")]
    NotFound,
    /// An answer to another question.
    #[error("an answer that does not fit: {0:?}")]
    Unfitting(Answer),
}

enum Wish {
    Watch(Area),
    Inspect(Inspect),
    Anew,
    Command(Command, oneshot::Sender<Answer>),
    /// Bytes as they are: what a hostile client would send.
    Raw(Vec<u8>),
}

struct Shared {
    scene: Mutex<Scene>,
    start: Instant,
    end: Mutex<Option<ClientError>>,
}

impl Shared {
    fn local(&self) -> SimTime {
        SimTime(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn scene(&self) -> MutexGuard<'_, Scene> {
        lock(&self.scene)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// A connected client. Dropping it ends the connection.
pub struct Client {
    shared: Arc<Shared>,
    wishes: mpsc::Sender<Wish>,
    events: mpsc::Receiver<Event>,
    patience: Duration,
}

impl Client {
    /// Connects and waits until the gateway has let us in.
    pub fn connect(url: &str, options: Options) -> Boxed<'_, Result<Self, ClientError>> {
        Box::pin(async move {
            let shared = Arc::new(Shared {
                scene: Mutex::new(Scene::new(options.poses)),
                start: Instant::now(),
                end: Mutex::new(None),
            });
            let urls = std::iter::once(url.to_owned()).chain(options.alternatives.iter().cloned());
            let urls: Vec<String> = urls.collect();
            let link = open_first(&urls, &options).await?;
            let patience = options.patience;
            let (wishes, wanted) = mpsc::channel(MOST_WISHES);
            let (told, events) = mpsc::channel(MOST_EVENTS);
            let (welcomed, welcome) = oneshot::channel();
            let driver = Driver {
                shared: Arc::clone(&shared),
                area: options.area,
                options,
                urls,
                wanted,
                told,
                welcomed: Some(welcomed),
                answers: BTreeMap::new(),
                next_command: 0,
                inspect: None,
            };
            tokio::spawn(driver.run(link));
            let client = Self {
                shared,
                wishes,
                events,
                patience,
            };
            match tokio::time::timeout(patience, welcome).await {
                Ok(Ok(())) => Ok(client),
                Ok(Err(_)) => Err(client.end()),
                Err(_) => Err(ClientError::NoAnswer),
            }
        })
    }

    /// Why the connection has ended.
    fn end(&self) -> ClientError {
        lock(&self.shared.end).take().unwrap_or(ClientError::Closed)
    }

    /// Has the connection ended? One that is made again has not.
    pub fn is_closed(&self) -> bool {
        self.wishes.is_closed()
    }

    /// Looks at everything that is known.
    pub fn look<R>(&self, look: impl FnOnce(&Scene) -> R) -> R {
        look(&self.shared.scene())
    }

    /// The client's own clock.
    pub fn local(&self) -> SimTime {
        self.shared.local()
    }

    /// Where all bodies in sight are to be shown now.
    pub fn bodies(&self) -> Vec<(BodyId, Shown)> {
        let scene = self.shared.scene();
        let frame = scene.shown_frame(self.shared.local());
        scene.poses(frame).collect()
    }

    /// What has come so far.
    pub fn traffic(&self) -> Traffic {
        self.shared.scene().traffic()
    }

    /// What happens next; `None`: the connection has ended.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// What has happened, without waiting.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// Wants to see another part of the world.
    pub async fn subscribe(&self, area: Area) -> Result<(), ClientError> {
        self.wish(Wish::Watch(area)).await
    }

    /// Wants to look closely; what comes are [`Event::Inspected`].
    pub async fn inspect(&self, inspect: Inspect) -> Result<(), ClientError> {
        self.wish(Wish::Inspect(inspect)).await
    }

    /// Wants to be told everything anew.
    pub async fn ask_anew(&self) -> Result<(), ClientError> {
        self.wish(Wish::Anew).await
    }

    /// Sends bytes as they are. For tests of gateways.
    pub async fn send_raw(&self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.wish(Wish::Raw(bytes)).await
    }

    async fn wish(&self, wish: Wish) -> Result<(), ClientError> {
        let sent = self.wishes.send(wish).await;
        sent.map_err(|_| self.end())
    }

    /// Commands or asks something, and waits for the answer.
    pub async fn command(&self, command: Command) -> Result<Answer, ClientError> {
        let (sender, answer) = oneshot::channel();
        self.wish(Wish::Command(command, sender)).await?;
        match tokio::time::timeout(self.patience, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(self.end()),
            Err(_) => Err(ClientError::NoAnswer),
        }
    }

    async fn done(&self, command: Command) -> Result<u64, ClientError> {
        match self.command(command).await? {
            Answer::Done { about, .. } => Ok(about),
            other => Err(refusal(other)),
        }
    }

    /// Creates a body.
    pub async fn spawn(&self, spawn: Spawn) -> Result<BodyId, ClientError> {
        let command = Command::Spawn(Box::new(spawn));
        self.done(command).await.map(BodyId)
    }

    /// Pushes a body at its centre of mass, N·s.
    pub async fn impulse(&self, body: BodyId, impulse: Vec3) -> Result<(), ClientError> {
        let at = None;
        let command = Command::Impulse { body, impulse, at };
        self.done(command).await.map(drop)
    }

    /// Gives a body another velocity, m/s.
    pub async fn set_velocity(&self, body: BodyId, velocity: Vec3) -> Result<(), ClientError> {
        let command = Command::Velocity { body, velocity };
        self.done(command).await.map(drop)
    }

    /// Removes a body.
    pub async fn remove(&self, body: BodyId) -> Result<(), ClientError> {
        self.done(Command::Remove { body }).await.map(drop)
    }

    /// The same scene from its beginning; returns the new world's number.
    pub async fn reset(&self) -> Result<u32, ClientError> {
        self.done(Command::Reset).await.map(|about| about as u32)
    }

    /// Another scene.
    pub async fn switch_scene(&self, scene: SceneChoice) -> Result<u32, ClientError> {
        let command = Command::SwitchScene(scene);
        self.done(command).await.map(|about| about as u32)
    }

    /// The same scene, cut into other regions.
    pub async fn define_regions(&self, plan: RegionPlan) -> Result<u32, ClientError> {
        let command = Command::DefineRegions(plan);
        self.done(command).await.map(|about| about as u32)
    }

    /// Bodies that appear in a volume for a while.
    pub async fn inject(&self, injection: Injection) -> Result<(), ClientError> {
        let command = Command::Inject(Box::new(injection));
        self.done(command).await.map(drop)
    }

    /// Puts up scenery that never moves, on all servers.
    pub async fn put_up(&self, piece: StaticPiece) -> Result<StaticId, ClientError> {
        let command = Command::PutUp(Box::new(piece));
        let id = self.done(command).await?;
        Ok(StaticId(u32::try_from(id).unwrap_or(u32::MAX)))
    }

    /// Ends all injections; returns how many there were.
    pub async fn stop_injections(&self) -> Result<u64, ClientError> {
        self.done(Command::StopInjections).await
    }

    /// Kills a region server of a demonstration.
    pub async fn kill_server(&self, name: &str) -> Result<(), ClientError> {
        let server = name.to_owned();
        self.done(Command::KillServer { server }).await.map(drop)
    }

    /// Makes the network between the servers of a demonstration worse or better.
    pub async fn set_network(&self, network: EmulatedNetwork) -> Result<(), ClientError> {
        self.done(Command::SetNetwork(network)).await.map(drop)
    }

    /// What does a ray hit first?
    pub async fn ray(
        &self,
        origin: DVec3,
        direction: Vec3,
        reach: f32,
    ) -> Result<Option<Hit>, ClientError> {
        let command = Command::Ray {
            origin,
            direction,
            reach,
        };
        match self.command(command).await? {
            Answer::Hit(hit) => Ok(hit),
            other => Err(refusal(other)),
        }
    }

    /// Which bodies touch this shape?
    pub async fn overlap(
        &self,
        shape: Shape,
        position: DVec3,
        rotation: Quat,
    ) -> Result<Vec<BodyId>, ClientError> {
        let command = Command::Overlap {
            shape,
            position,
            rotation,
        };
        match self.command(command).await? {
            Answer::Touching(bodies) => Ok(bodies),
            other => Err(refusal(other)),
        }
    }
}

fn refusal(answer: Answer) -> ClientError {
    match answer {
        Answer::Refused(why) => ClientError::Refused(why),
        Answer::Forbidden(why) => ClientError::Forbidden(why),
        Answer::NotFound => ClientError::NotFound,
        Answer::NoAnswer => ClientError::NoAnswer,
        other => ClientError::Unfitting(other),
    }
}

/// Connects to the first gateway that lets itself be reached.
async fn open_first(urls: &[String], options: &Options) -> Result<Link, ClientError> {
    let mut first_error = None;
    for url in urls {
        match Link::open(url, options).await {
            Ok(link) => return Ok(link),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    Err(first_error.unwrap_or(ClientError::Closed))
}

/// The task behind a client.
struct Driver {
    shared: Arc<Shared>,
    options: Options,
    urls: Vec<String>,
    /// What it wants to see.
    area: Area,
    wanted: mpsc::Receiver<Wish>,
    told: mpsc::Sender<Event>,
    welcomed: Option<oneshot::Sender<()>>,
    answers: BTreeMap<u32, oneshot::Sender<Answer>>,
    next_command: u32,
    /// What it looks at closely.
    inspect: Option<Inspect>,
}

/// Would another try end the same way?
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Goodbye { reason, .. } => *reason != Goodbye::Stopping,
        ClientError::Malformed(_) | ClientError::Scene(_) | ClientError::BadUrl(_) => true,
        _ => false,
    }
}

impl Driver {
    async fn run(mut self, mut link: Link) {
        let end = loop {
            let ended = self.drive(&mut link).await;
            link.close().await;
            let end = match ended {
                // Nobody wants anything any more.
                Ok(()) => break ClientError::Closed,
                Err(end) => end,
            };
            // Never let in: whoever connects hears of it.
            if is_final(&end) || self.welcomed.is_some() {
                break end;
            }
            self.tell(Event::Lost);
            // What was asked may or may not have happened.
            self.answers.clear();
            self.next_command = 0;
            match self.connect_again().await {
                Some(again) => link = again,
                None => break end,
            }
        };
        lock(&self.shared.end).get_or_insert(end);
    }

    async fn connect_again(&self) -> Option<Link> {
        let give_up = Instant::now() + self.options.reconnect?;
        let [mut wait, longest] = RETRIES;
        while Instant::now() < give_up {
            if let Ok(link) = open_first(&self.urls, &self.options).await {
                return Some(link);
            }
            if self.wanted.is_closed() {
                return None;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(longest);
        }
        None
    }

    fn tell(&self, event: Event) {
        // Whoever does not ask for events misses them.
        let _ = self.told.try_send(event);
    }

    /// Until nobody wants anything any more, or the connection ends.
    async fn drive(&mut self, link: &mut Link) -> Result<(), ClientError> {
        let hello = ToGateway::Hello(Hello {
            version: VERSION,
            token: self.options.token.clone(),
            area: self.area,
            rate: self.options.rate,
        });
        link.send(hello.encode()).await?;
        if let Some(inspect) = self.inspect.clone() {
            link.send(ToGateway::Inspect(inspect).encode()).await?;
        }
        let mut pings = 0;
        let mut heard = Instant::now();
        let ping = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(ping);
        loop {
            tokio::select! {
                message = link.next() => {
                    let message = message.ok_or(ClientError::Closed)?;
                    heard = Instant::now();
                    self.handle(&message?)?;
                }
                wish = self.wanted.recv() => {
                    let Some(wish) = wish else {
                        return Ok(());
                    };
                    let bytes = self.fulfil(wish);
                    link.send(bytes).await?;
                }
                () = &mut ping => {
                    if heard.elapsed() > LONGEST_SILENCE {
                        return Err(ClientError::Lost("the gateway is silent".to_owned()));
                    }
                    let sent = self.shared.local();
                    link.send(ToGateway::Ping { sent }.encode()).await?;
                    pings += 1;
                    let wait = if pings < FIRST_PINGS.0 { FIRST_PINGS.1 } else { PINGS };
                    ping.as_mut().reset(tokio::time::Instant::now() + wait);
                }
            }
        }
    }

    fn fulfil(&mut self, wish: Wish) -> Vec<u8> {
        match wish {
            Wish::Watch(area) => {
                self.area = area;
                ToGateway::Watch(area).encode()
            }
            Wish::Inspect(inspect) => {
                self.inspect = Some(inspect.clone());
                ToGateway::Inspect(inspect).encode()
            }
            Wish::Anew => ToGateway::Anew.encode(),
            Wish::Raw(bytes) => bytes,
            Wish::Command(command, answer) => {
                self.next_command += 1;
                let id = self.next_command;
                self.answers.insert(id, answer);
                ToGateway::Command { id, command }.encode()
            }
        }
    }

    fn handle(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        let message = ToClient::decode(bytes)?;
        let local = self.shared.local();
        {
            let mut scene = self.shared.scene();
            scene.handle_message(local, bytes.len(), &message)?;
            // Before anyone can look: who sees a change in the scene finds its events too.
            for event in scene.take_events() {
                self.tell(event);
            }
        }
        if let Some(tap) = &self.options.tap {
            // Whoever listened may have gone.
            let _ = tap.send((local, bytes.to_vec()));
        }
        match message {
            ToClient::Welcome(_) => {
                if let Some(welcomed) = self.welcomed.take() {
                    let _ = welcomed.send(());
                }
            }
            ToClient::Answer { id, answer } => {
                if let Some(waiting) = self.answers.remove(&id) {
                    let _ = waiting.send(answer);
                }
            }
            ToClient::Goodbye { reason, text } => {
                return Err(ClientError::Goodbye { reason, text });
            }
            _ => {}
        }
        Ok(())
    }
}
