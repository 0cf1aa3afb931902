//! Real clients that look at everything while servers die.

use client::{Client, Event, Options};
use domain::BodyId;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// What a client has been through.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// How often its connection was lost.
    pub lost: u32,
    /// And made again.
    pub reconnected: u32,
    /// The longest time without an update.
    pub longest_gap: Duration,
    ended: bool,
    bodies: BTreeSet<BodyId>,
}

/// A client that looks at everything.
pub struct Onlooker {
    story: Arc<Mutex<Story>>,
    task: JoinHandle<()>,
}

impl Drop for Onlooker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Onlooker {
    /// Connects to the first of these gateways that is there, as soon as one is; goes to another when it is gone.
    pub async fn connect(gateways: &[SocketAddr]) -> Self {
        let mut urls = gateways.iter().map(|address| format!("ws://{address}/ws"));
        let url = urls.next().expect("at least one");
        let options = Options {
            reconnect: Some(Duration::from_secs(30)),
            alternatives: urls.collect(),
            ..Options::default()
        };
        let give_up = Instant::now() + Duration::from_secs(20);
        let client = loop {
            match Client::connect(&url, options.clone()).await {
                Ok(client) => break client,
                Err(error) => assert!(Instant::now() < give_up, "no gateway: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let story = Arc::new(Mutex::new(Story::default()));
        let task = tokio::spawn(look(client, Arc::clone(&story)));
        Self { story, task }
    }

    /// What it has been through so far.
    pub fn story(&self) -> Story {
        self.story.lock().expect("it does not panic").clone()
    }

    /// Are all these in sight?
    pub fn sees(&self, bodies: &BTreeSet<BodyId>) -> bool {
        self.story().bodies.is_superset(bodies)
    }

    /// Nothing is in sight but these.
    pub fn check_sees_only(&self, bodies: &BTreeSet<BodyId>) {
        let story = self.story();
        let strange: Vec<_> = story.bodies.difference(bodies).collect();
        assert!(strange.is_empty(), "a client sees {strange:?}");
    }

    /// Its connection was never lost.
    pub fn check_undisturbed(&self) {
        let story = self.story();
        assert!(!story.ended, "a client's connection has ended");
        assert_eq!((story.lost, story.reconnected), (0, 0));
    }
}

async fn look(mut client: Client, story: Arc<Mutex<Story>>) {
    let mut last = Instant::now();
    while let Some(event) = client.next_event().await {
        let mut story = story.lock().expect("nobody panics with it");
        match event {
            Event::Lost => story.lost += 1,
            Event::Reconnected => story.reconnected += 1,
            Event::Entered(_) | Event::Left { .. } | Event::World { .. } => {}
            Event::Updated { .. } => {
                story.longest_gap = story.longest_gap.max(last.elapsed());
                last = Instant::now();
            }
            _ => continue,
        }
        story.bodies = client.look(|scene| scene.bodies().map(|(id, _)| id).collect());
    }
    story.lock().expect("nobody panics with it").ended = true;
}
