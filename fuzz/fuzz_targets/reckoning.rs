//! Any bytes are a datagram or an error; a datagram can be encoded and means the same again. And whatever a server and a client
//! with a connection are fed in each other's name, neither panics.

#![no_main]

use domain::SimTime;
use libfuzzer_sys::fuzz_target;
use reckoning::codec::{Datagram, Limits, PROTOCOL_VERSION, Token};
use reckoning::replication::{Client, ClientConfig, Server, ServerConfig};
use std::net::SocketAddr;

const NOW: SimTime = SimTime(100_000_000_000);
const LIMITS: Limits = Limits {
    now: NOW,
    slack: SimTime(1_000_000_000),
};

fuzz_target!(|body: &[u8]| {
    // As they come, and as each kind of datagram of this version.
    check(body);
    let (mut server, mut client, token) = connected();
    let mut bytes = body.to_vec();
    for kind in 0..16 {
        if let Some(first) = bytes.first_mut() {
            *first = kind << 4 | PROTOCOL_VERSION;
        }
        check(&bytes);
        // With the right token they pass to the layers behind.
        if let Some(place) = bytes.get_mut(1..5) {
            place.copy_from_slice(&token.0.to_le_bytes());
        }
        check(&bytes);
        let _ = server.handle_datagram(NOW, address(), &bytes);
        let _ = client.handle_datagram(NOW, &bytes);
        server.handle_tick(NOW);
        client.handle_tick(NOW);
        while server.poll_transmit(NOW).is_some() {}
        while client.poll_transmit(NOW).is_some() {}
    }
});

fn address() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 1))
}

fn connected() -> (Server, Client, Token) {
    let config = ServerConfig {
        puzzle_bits: 0,
        ..ServerConfig::default()
    };
    let mut server = Server::new(config, [1; 32]);
    let mut client = Client::new(ClientConfig::default(), 1);
    let mut token = None;
    while token.is_none() {
        let knock = client.poll_transmit(NOW).expect("it knocks and answers");
        let _ = server.handle_datagram(NOW, address(), &knock);
        let (_, answer) = server.poll_transmit(NOW).expect("and is answered");
        if let Ok(Datagram::Accepted { token: given, .. }) = Datagram::decode(&answer, &LIMITS) {
            token = Some(given);
        }
        let _ = client.handle_datagram(NOW, &answer);
    }
    (server, client, token.unwrap_or_default())
}

fn check(bytes: &[u8]) {
    if let Ok(datagram) = Datagram::decode(bytes, &LIMITS) {
        let again = datagram.encode().expect("what was decoded is valid");
        assert_eq!(Datagram::decode(&again, &LIMITS), Ok(datagram));
    }
}
