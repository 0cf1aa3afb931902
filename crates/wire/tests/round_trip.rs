//! What is sent is what is received: offers bit for bit, auras never smaller.

use crate::common::{clusters, envelopes, offers, sample, upserts};
use domain::{Cluster, RegionId, SimTime, Tick};
use glam::{Quat, Vec3};
use proptest::prelude::*;
use wire::{AuraUpsert, Envelope, Message, Offer, decode, encode, encode_into};

fn received(envelope: &Envelope) -> Envelope {
    let bytes = encode(envelope).expect("the strategies make valid envelopes");
    decode(&bytes).expect("what was encoded can be decoded")
}

fn envelope_of(messages: Vec<Message>) -> Envelope {
    Envelope {
        from: RegionId(0),
        to: RegionId(1),
        tick: Tick(60),
        sent_at: SimTime(0),
        messages,
    }
}

fn as_received(message: &Message) -> Message {
    match message {
        Message::AuraUpsert(upsert) => Message::AuraUpsert(upsert.rounded_outwards()),
        other => other.clone(),
    }
}

/// Every number of a cluster as its bits: `==` would not tell 0.0 from −0.0.
fn bits(cluster: &Cluster) -> Vec<u64> {
    let f = |value: f32| u64::from(value.to_bits());
    let v = |vector: Vec3| vector.to_array().map(f);
    let q = |rotation: Quat| rotation.to_array().map(f);
    let mut all = Vec::new();
    for body in &cluster.bodies {
        all.extend(body.motion.position.to_array().map(f64::to_bits));
        all.extend(q(body.motion.rotation));
        all.extend(v(body.motion.linear_velocity));
        all.extend(v(body.motion.angular_velocity));
        let form = &body.form;
        let material = form.material;
        all.extend([material.density, material.friction, material.restitution].map(f));
        all.extend(
            [
                form.gravity_scale,
                form.linear_damping,
                form.angular_damping,
            ]
            .map(f),
        );
        all.push(f(body.rest.still_secs));
    }
    for joint in &cluster.joints {
        all.extend([joint.anchor_a, joint.anchor_b, joint.axis].map(v).concat());
    }
    for point in cluster.contacts.iter().flat_map(|contact| &contact.points) {
        all.extend([point.normal_impulse, point.twist_impulse].map(f));
        all.extend(v(point.friction_impulse));
        all.extend(v(point.place));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_message_comes_back(envelope in envelopes()) {
        let expected: Vec<Message> = envelope.messages.iter().map(as_received).collect();
        let got = received(&envelope);
        prop_assert_eq!(&got.messages, &expected);
        prop_assert_eq!((got.from, got.to, got.tick, got.sent_at),
            (envelope.from, envelope.to, envelope.tick, envelope.sent_at));
        // One form per envelope: what was received encodes to the same bytes.
        prop_assert_eq!(encode(&got), encode(&envelope));
    }

    // AP-20: pose, velocities, shape, mass, material, sleep state and contact memory survive bit for bit.
    #[test]
    fn a_cluster_comes_back_bit_for_bit(cluster in clusters(), offer in offers()) {
        let count = cluster.bodies.len();
        let members = offer.members.iter().cycle().take(count).copied().collect();
        let sent = Offer { cluster, members, bonds: Vec::new(), ..offer };
        let got = received(&envelope_of(vec![Message::Offer(Box::new(sent.clone()))]));
        let [Message::Offer(got)] = &got.messages[..] else { panic!("an offer was sent") };
        prop_assert_eq!(got.as_ref(), &sent);
        prop_assert_eq!(bits(&got.cluster), bits(&sent.cluster));
    }

    #[test]
    fn a_received_aura_holds_the_sent_one(upsert in upserts()) {
        let got = upsert.rounded_outwards();
        let moved = (got.centre - upsert.centre).length();
        let turned = (got.spine.as_dvec3() - upsert.spine.as_dvec3()).length();
        let moved = moved + turned;
        let grown = f64::from(got.reach) - f64::from(upsert.reach);
        prop_assert!(grown >= moved, "moved by {moved}, grown by {grown}");
        prop_assert!(got.growth >= upsert.growth);
        prop_assert_eq!(got.radius.to_bits(), upsert.radius.to_bits());
        // No more than it must; above 8 km the steps of an f32 are coarser than ours.
        if upsert.reach < 8192.0 {
            prop_assert!(grown <= 0.0013 + turned, "grown by {grown}, turned by {turned}");
        }
        prop_assert_eq!(got.rounded_outwards(), got, "rounding again changes nothing");
    }
}

// AP-20, with the numbers that a careless format loses.
#[test]
fn minus_zero_and_denormals_survive() {
    let mut offer = crate::common::sample_offer();
    let body = &mut offer.cluster.bodies[0];
    body.motion.position = glam::DVec3::new(-0.0, 5e-324, f64::MIN_POSITIVE / 2.0);
    body.motion.linear_velocity = Vec3::new(-0.0, 1e-45, f32::MIN_POSITIVE / 2.0);
    body.motion.angular_velocity = Vec3::new(0.0, -1e-45, -0.0);
    // The same form but for a sign of zero: it must not pass for a repetition.
    offer.cluster.bodies[1].form.linear_damping = -0.0;
    let got = received(&envelope_of(vec![Message::Offer(Box::new(offer.clone()))]));
    let [Message::Offer(got)] = &got.messages[..] else {
        panic!("an offer was sent")
    };
    assert_eq!(bits(&got.cluster), bits(&offer.cluster));
    assert_eq!(
        got.cluster.bodies[1].form.linear_damping.to_bits(),
        (-0.0_f32).to_bits()
    );
}

#[test]
fn a_buffer_can_be_used_again() {
    let mut buffer = vec![1, 2, 3];
    encode_into(&sample(), &mut buffer).expect("the sample is valid");
    assert_eq!(Ok(&buffer), encode(&sample()).as_ref());
    let to_itself = Envelope {
        to: RegionId(1),
        ..sample()
    };
    assert!(encode_into(&to_itself, &mut buffer).is_err());
    assert!(buffer.is_empty(), "no half an envelope is left behind");
}

#[test]
fn a_wall_of_bricks_says_its_form_once() {
    let brick = || domain::Shape::Cuboid { size: Vec3::ONE };
    let offer_of = |count: u64| {
        let mut offer = crate::common::sample_offer();
        offer.cluster = Cluster {
            bodies: (0..count)
                .map(|id| crate::common::sample_body(id, brick()))
                .collect(),
            ..Cluster::default()
        };
        offer.members = vec![offer.members[0]; count as usize];
        offer.unborn.clear();
        offer.bonds.clear();
        encode(&envelope_of(vec![Message::Offer(Box::new(offer))]))
            .expect("valid")
            .len()
    };
    let per_brick = (offer_of(1001) - offer_of(1)) as f64 / 1000.0;
    assert!(
        per_brick <= 74.1,
        "{per_brick} bytes: 64 of motion and 10 of the rest"
    );
}

#[test]
fn a_run_of_like_auras_is_small() {
    let grid = |n: u64| {
        glam::DVec3::new(
            (n % 20) as f64 * 1.02,
            (n / 400) as f64,
            (n / 20 % 20) as f64 * 1.02,
        )
    };
    let run = |count: u64| {
        let auras =
            (0..count).map(|n| Message::AuraUpsert(crate::common::sample_upsert(n, grid(n))));
        encode(&envelope_of(auras.collect())).expect("valid").len()
    };
    let each = (run(401) - run(1)) as f64 / 400.0;
    assert!(each <= 16.0, "{each} bytes per upsert");
}

#[test]
fn limits_hold_for_what_the_receiver_sees_too() {
    let upsert = AuraUpsert {
        reach: wire::MAX_AURA_M,
        centre: glam::DVec3::splat(0.0001),
        ..crate::common::sample_upsert(1, glam::DVec3::ZERO)
    };
    // Rounded outwards it would be above the limit there, so it is refused here.
    let refused = encode(&envelope_of(vec![Message::AuraUpsert(upsert)])).expect_err("too far");
    assert!(
        refused.to_string().contains("messages[0].reach"),
        "{refused}"
    );
}
