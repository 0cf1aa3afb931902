//! A real etcd on loopback, with a temporary directory and free ports, for as long as a test lasts.

// Not every test uses all of it.
#![allow(dead_code)]

use cluster::store::{Etcd, EtcdSettings, EtcdTls, StoreError};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// With this set to 1, tests that need etcd say that they were skipped instead of failing where it is missing.
const WITHOUT: &str = "AURAMESH_NO_ETCD";
const START: Duration = Duration::from_secs(60);

pub struct EtcdProcess {
    child: Child,
    how: How,
}

/// How to start it, and to start it again.
struct How {
    directory: tempfile::TempDir,
    client_port: u16,
    peer_port: u16,
    tls: Option<EtcdTls>,
}

impl EtcdProcess {
    /// Starts it and waits until it answers; `None` if it was asked to be left out.
    pub async fn start() -> Option<Self> {
        Self::start_with(None).await
    }

    /// The same with TLS on both sides: this certificate is etcd's, and a test's too.
    pub async fn start_with(tls: Option<EtcdTls>) -> Option<Self> {
        if std::env::var(WITHOUT).is_ok_and(|value| value == "1") {
            println!("skipped, because {WITHOUT}=1: this test needs etcd");
            return None;
        }
        // Somebody else may take a port that was free a moment ago: etcd ends, and another one is tried.
        for _ in 0..3 {
            let how = How {
                directory: directory(),
                client_port: free_port(),
                peer_port: free_port(),
                tls: tls.clone(),
            };
            let child = how.spawn();
            let mut etcd = Self { child, how };
            match etcd.wait_until_it_answers().await {
                Ok(()) => return Some(etcd),
                Err(status) => println!("etcd ended at once, with {status}"),
            }
        }
        panic!("etcd does not start");
    }

    pub fn settings(&self) -> EtcdSettings {
        EtcdSettings {
            endpoints: vec![self.how.url()],
            tls: self.how.tls.clone(),
            user: None,
        }
    }

    pub async fn connect(&self) -> Etcd {
        Etcd::connect(&self.settings()).await.expect("etcd answers")
    }

    /// Kills it, so that every connection breaks.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }

    /// Starts it again where it was, with what it had.
    pub async fn restart(&mut self) {
        self.child = self.how.spawn();
        let answers = self.wait_until_it_answers().await;
        answers.expect("it goes on");
    }

    async fn wait_until_it_answers(&mut self) -> Result<(), ExitStatus> {
        let start = Instant::now();
        loop {
            let error = match Etcd::connect(&self.settings()).await {
                Ok(_) => return Ok(()),
                Err(StoreError::Unreachable(error)) => error,
                // It asks for a user, so it answers.
                Err(_) => return Ok(()),
            };
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return Err(status);
            }
            assert!(start.elapsed() < START, "etcd does not answer: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for EtcdProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl How {
    fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.client_port)
    }

    fn spawn(&self) -> Child {
        let (client, peer) = (self.url(), format!("http://127.0.0.1:{}", self.peer_port));
        let mut command = Command::new("etcd");
        command
            .args(["--name", "test", "--data-dir"])
            .arg(self.directory.path())
            .args([
                "--listen-client-urls",
                &client,
                "--advertise-client-urls",
                &client,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args(["--initial-cluster", &format!("test={peer}")])
            // The shortest lease is one and a half of the latter: 1 s instead of 2.
            .args(["--heartbeat-interval", "20", "--election-timeout", "200"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(tls) = &self.tls {
            let (certificate, key) = tls.client.as_ref().expect("etcd has a certificate");
            command
                .arg("--client-cert-auth")
                .arg("--trusted-ca-file")
                .arg(&tls.ca);
            command
                .arg("--cert-file")
                .arg(certificate)
                .arg("--key-file")
                .arg(key);
        }
        command.spawn().unwrap_or_else(|error| match error.kind() {
            ErrorKind::NotFound => {
                panic!("this test needs etcd: `apt-get install etcd-server`, or set {WITHOUT}=1 to skip it")
            }
            _ => panic!("etcd cannot be started: {error}"),
        })
    }
}

/// In memory where possible: etcd waits for the disk at every write, and what is tested is not how busy that is.
fn directory() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.unwrap_or_else(|_| tempfile::tempdir().expect("a temporary directory"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    listener.local_addr().expect("bound").port()
}
