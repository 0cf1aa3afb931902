//! The demo, for real: sockets of this machine, a server and three clients (DR-50).

#[path = "../examples/dr_demo.rs"]
#[expect(dead_code, reason = "the program's own entrance is not used here")]
mod dr_demo;

use dr_demo::{Mode, Summary, find, parse, play, search_targets, serve};
use std::net::{SocketAddr, UdpSocket};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

// DR-50
#[test]
fn dr_50_three_clients_see_each_other_over_real_sockets() {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    let port = socket.local_addr().expect("bound").port();
    let summaries: Vec<Summary> = std::thread::scope(|scope| {
        scope.spawn(|| serve(&socket, 3.4, &mut std::io::sink()).expect("serves"));
        let clients = [
            // One searches, one asks localhost, one knows.
            scope.spawn(move || find(&search_targets(port))),
            scope.spawn(move || find(&[SocketAddr::from(([127, 0, 0, 1], port))])),
            scope.spawn(move || Ok(SocketAddr::from(([127, 0, 0, 1], port)))),
        ];
        let servers = clients.map(|client| client.join().expect("no panic").expect("found"));
        let games = servers
            .map(|server| scope.spawn(move || play(server, 2.6, &mut Vec::new()).expect("plays")));
        games.map(|game| game.join().expect("no panic")).into()
    });
    for summary in summaries {
        assert_eq!(summary.others.len(), 2, "{summary:?}");
        assert!(summary.clock_bound_ms < 50.0, "{summary:?}");
        assert!(summary.round_trip_ms < 100.0, "{summary:?}");
        // At 9.6 m/s; a machine that is busy with something else for 0.3 s costs some 1.4 m.
        assert!(summary.mean_error < 0.2, "{summary:?}");
        assert!(
            summary.others.values().all(|worst| *worst < 3.0),
            "{summary:?}"
        );
    }
}

#[test]
fn dr_50_the_four_run_modes_are_understood() {
    let mode = |line: &str| parse(&words(line)).map(|options| options.mode);
    assert_eq!(mode("server"), Ok(Mode::Server));
    assert_eq!(mode("client --search"), Ok(Mode::Search));
    let localhost = Mode::Ping("localhost".into());
    assert_eq!(mode("client --ping localhost"), Ok(localhost));
    assert_eq!(mode("both --seconds 2 --port 5"), Ok(Mode::Both));
    for bad in [
        "",
        "client",
        "server --search",
        "both --seconds x",
        "--ping",
        "dance",
    ] {
        assert!(mode(bad).is_err(), "{bad}");
    }
}
