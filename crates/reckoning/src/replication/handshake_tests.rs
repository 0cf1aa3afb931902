use super::*;
use crate::replication::puzzle::MAX_DIFFICULTY;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn gatekeeper() -> Gatekeeper {
    Gatekeeper::new([42; 32], 8)
}

fn secs(secs: f64) -> SimTime {
    SimTime::from_secs(secs)
}

/// The solved answer to a challenge given to `from`.
fn answer(gate: &mut Gatekeeper, now: SimTime, from: SocketAddr, nonce: u64) -> Datagram {
    let mut client = Connector::new(nonce);
    let request = client.poll_transmit(now).expect("asks at once");
    let Verdict::Answer(challenge) = gate.handle(now, from, &request) else {
        panic!("a request is answered with a challenge");
    };
    client.handle(&challenge);
    (0..1000)
        .find_map(|_| client.poll_transmit(now))
        .expect("an easy puzzle")
}

// DR-49
#[test]
fn dr_49_who_answers_the_challenge_is_admitted_and_always_with_the_same_token() {
    let (mut gate, now) = (gatekeeper(), secs(3.0));
    let response = answer(&mut gate, now, address(1), 5);
    let first = gate.handle(now, address(1), &response);
    assert!(matches!(first, Verdict::Admit { nonce: 5, .. }));
    assert_eq!(gate.handle(secs(4.0), address(1), &response), first);
}

#[test]
fn dr_49_a_cookie_is_worthless_at_another_address() {
    let (mut gate, now) = (gatekeeper(), secs(3.0));
    let response = answer(&mut gate, now, address(1), 5);
    assert_eq!(gate.handle(now, address(2), &response), Verdict::Ignore);
    let other_host = SocketAddr::from(([10, 0, 0, 2], 1));
    assert_eq!(gate.handle(now, other_host, &response), Verdict::Ignore);
}

#[test]
fn dr_49_a_cookie_of_another_secret_nonce_epoch_or_puzzle_is_worthless() {
    let (mut gate, now) = (gatekeeper(), secs(3.0));
    let response = answer(&mut gate, now, address(1), 5);
    let mut stranger = Gatekeeper::new([43; 32], 8);
    assert_eq!(stranger.handle(now, address(1), &response), Verdict::Ignore);
    let Datagram::ConnectResponse {
        nonce,
        epoch,
        cookie,
        difficulty,
        solution,
    } = response
    else {
        panic!("a response");
    };
    let forged = |nonce, epoch, difficulty| Datagram::ConnectResponse {
        nonce,
        epoch,
        cookie,
        difficulty,
        solution,
    };
    for forged in [
        forged(nonce + 1, epoch, difficulty),
        forged(nonce, epoch + 1, difficulty),
        forged(nonce, epoch, 0),
    ] {
        assert_eq!(gate.handle(now, address(1), &forged), Verdict::Ignore);
    }
}

#[test]
fn dr_49_a_cookie_expires() {
    let mut gate = gatekeeper();
    let response = answer(&mut gate, secs(3.0), address(1), 5);
    let late = gate.handle(secs(19.9), address(1), &response);
    assert!(matches!(late, Verdict::Admit { .. }), "one period later");
    let too_late = gate.handle(secs(20.0), address(1), &response);
    let expected = Datagram::Refused {
        nonce: 5,
        reason: RefusalReason::Expired,
    };
    assert_eq!(too_late, Verdict::Answer(expected));
}

#[test]
fn dr_49_an_unsolved_puzzle_is_refused() {
    let (mut gate, now) = (gatekeeper(), secs(3.0));
    let mut response = answer(&mut gate, now, address(1), 5);
    if let Datagram::ConnectResponse { solution, .. } = &mut response {
        *solution ^= 1 << 40;
    }
    let expected = Datagram::Refused {
        nonce: 5,
        reason: RefusalReason::WrongSolution,
    };
    let verdict = gate.handle(now, address(1), &response);
    assert_eq!(verdict, Verdict::Answer(expected));
}

// A puzzle made harder by a flood must be solved as hard as it was asked.
#[test]
fn dr_49_in_a_flood_an_easy_solution_is_not_enough() {
    let (mut gate, now) = (gatekeeper(), secs(3.0));
    let knock = Datagram::ConnectRequest { nonce: 5 };
    let challenge = |gate: &mut Gatekeeper| match gate.handle(now, address(1), &knock) {
        Verdict::Answer(Datagram::Challenge {
            cookie,
            difficulty,
            epoch,
            ..
        }) => (cookie, difficulty, epoch),
        other => panic!("{other:?}"),
    };
    for _ in 0..1000 {
        challenge(&mut gate);
    }
    let (cookie, difficulty, epoch) = challenge(&mut gate);
    assert!(difficulty > 8);
    let solved = |bits, solution: &u64| is_solution(&cookie, 5, bits, *solution);
    let easy = (0..)
        .find(|s| solved(8, s) && !solved(difficulty, s))
        .unwrap();
    let respond = |solution| Datagram::ConnectResponse {
        nonce: 5,
        epoch,
        cookie,
        difficulty,
        solution,
    };
    let refused = gate.handle(now, address(1), &respond(easy));
    assert!(matches!(refused, Verdict::Answer(Datagram::Refused { .. })));
    let hard = (0..).find(|s| solved(difficulty, s)).unwrap();
    let admitted = gate.handle(now, address(1), &respond(hard));
    assert!(matches!(admitted, Verdict::Admit { .. }));
}

#[test]
fn dr_49_a_flood_makes_the_puzzle_harder_and_its_end_makes_it_easier() {
    let mut gate = gatekeeper();
    let knock = Datagram::ConnectRequest { nonce: 1 };
    for i in 0..10_000 {
        gate.handle(secs(1.0), address(i), &knock);
    }
    assert_eq!(gate.difficulty(), 8 + 8, "10000 / 64 = 156 = 2^7 and more");
    gate.handle(secs(2.5), address(1), &knock);
    assert_eq!(gate.difficulty(), 8);
}

#[test]
fn dr_49_the_server_keeps_nothing_of_who_only_knocks() {
    let mut gate = gatekeeper();
    gate.handle(
        secs(1.0),
        address(1),
        &Datagram::ConnectRequest { nonce: 1 },
    );
    let once = format!("{gate:?}").len();
    for i in 0..50 {
        let knock = Datagram::ConnectRequest { nonce: i.into() };
        gate.handle(secs(1.0), address(i), &knock);
    }
    assert_eq!(
        format!("{gate:?}").len(),
        once + 1,
        "a counter of two digits"
    );
}

#[test]
fn dr_49_the_answer_to_a_knock_is_smaller_than_the_knock() {
    let mut gate = gatekeeper();
    let knock = Datagram::ConnectRequest { nonce: 1 };
    let Verdict::Answer(challenge) = gate.handle(secs(1.0), address(1), &knock) else {
        panic!("a challenge");
    };
    let sizes = [&knock, &challenge].map(|datagram| datagram.encode().unwrap().len());
    assert!(sizes[0] > sizes[1], "{sizes:?}");
}

#[test]
fn a_client_repeats_itself_until_answered_and_starts_again_if_too_late() {
    let mut client = Connector::new(5);
    let knock = client.poll_transmit(secs(0.0));
    assert!(knock.is_some());
    assert_eq!(client.poll_transmit(secs(0.1)), None);
    assert_eq!(client.poll_transmit(secs(0.25)), knock);
    client.handle(&Datagram::Refused {
        nonce: 5,
        reason: RefusalReason::Expired,
    });
    assert_eq!(client.poll_transmit(secs(0.3)), knock);
}

#[test]
fn a_client_believes_only_answers_to_its_own_questions() {
    let mut client = Connector::new(5);
    client.handle(&Datagram::Accepted {
        nonce: 5,
        token: Token(1),
        client: 1,
    });
    client.handle(&Datagram::Refused {
        nonce: 6,
        reason: RefusalReason::Full,
    });
    assert_eq!(*client.progress(), Progress::Connecting);
    client.handle(&Datagram::Challenge {
        nonce: 5,
        epoch: 0,
        cookie: [0; 16],
        difficulty: MAX_DIFFICULTY + 1,
    });
    assert_eq!(*client.progress(), Progress::TooHard(MAX_DIFFICULTY + 1));
}
