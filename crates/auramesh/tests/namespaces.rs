//! Live servers in network namespaces of their own, with `tc netem` between them: a delay of 2 ms ± 1 ms and 1 % loss.
//!
//! Needs root, and a kernel with network namespaces and netem. Where one is missing the test says so: without namespaces it is skipped; without netem the program's own
//! emulation (`--net`) stands in, within the namespaces. By default one scene for some seconds; with `AURAMESH_FULL=1` every built-in scene for a minute.

mod live_report;

use std::process::Command;

const SERVERS: u8 = 4;
const EMULATED: &str = "latency_ms=2,jitter_ms=1,loss=0.01";

fn ip(args: &str) -> Result<(), String> {
    call("ip", args)
}

fn call(program: &str, args: &str) -> Result<(), String> {
    let output = Command::new(program).args(args.split(' ')).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(format!("{program} {args}: {}", why.trim()))
        }
    }
}

/// A bridge in this namespace, and a namespace for each server at the other end of a cable.
struct Ground {
    name: String,
    network: [u8; 3],
}

impl Ground {
    fn new() -> Result<Self, String> {
        let id = std::process::id();
        let ground = Self {
            name: format!("am{}x", id % 100_000),
            network: [10, 64 + (id % 128) as u8, (id / 128 % 256) as u8],
        };
        ground.prepare().map(|()| ground)
    }

    fn address(&self, host: u8) -> String {
        let [a, b, c] = self.network;
        format!("{a}.{b}.{c}.{host}")
    }

    fn prepare(&self) -> Result<(), String> {
        let name = &self.name;
        ip(&format!("link add {name}b type bridge"))?;
        ip(&format!("addr add {}/24 dev {name}b", self.address(1)))?;
        ip(&format!("link set {name}b up"))?;
        for n in 0..SERVERS {
            ip(&format!("netns add {name}{n}"))?;
            ip(&format!(
                "link add {name}c{n} type veth peer name eth0 netns {name}{n}"
            ))?;
            ip(&format!("link set {name}c{n} master {name}b up"))?;
            let address = self.address(n + 2);
            ip(&format!("-n {name}{n} addr add {address}/24 dev eth0"))?;
            ip(&format!("-n {name}{n} link set eth0 up"))?;
            ip(&format!("-n {name}{n} link set lo up"))?;
        }
        Ok(())
    }

    /// What each server sends is delayed and lost.
    fn spoil(&self) -> Result<(), String> {
        for n in 0..SERVERS {
            let namespace = format!("{}{n}", self.name);
            call(
                "tc",
                &format!(
                    "-n {namespace} qdisc add dev eth0 root netem delay 2ms 1ms loss 1% limit 10000"
                ),
            )?;
        }
        Ok(())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for n in 0..SERVERS {
            let _ = ip(&format!("netns del {}{n}", self.name));
        }
        let _ = ip(&format!("link del {}b", self.name));
    }
}

#[test]
fn a_live_world_keeps_all_promises_between_network_namespaces() {
    let ground = match Ground::new() {
        Ok(ground) => ground,
        Err(why) => {
            live_report::say(&format!(
                "SKIPPED: network namespaces are not permitted here ({why})"
            ));
            return;
        }
    };
    let namespaces = format!("{}:{}", ground.name, ground.address(0));
    let mut flags = vec!["--namespaces", &namespaces];
    if let Err(why) = ground.spoil() {
        live_report::say(&format!(
            "NO NETEM in this kernel ({why}): --net {EMULATED} stands in between the namespaces"
        ));
        flags.extend(["--net", EMULATED]);
    }
    if std::env::var_os("AURAMESH_FULL").is_none() {
        let report = live_report::run("orbit", 6, &flags);
        assert!(report["migrations"].as_u64() > Some(4));
        return;
    }
    for scene in scenes::builtin::names() {
        live_report::run(scene, 60, &flags);
    }
}
