//! Parcels of the policy `replicate`: there and back, and hostile bytes.

use domain::{BodyId, Epoch, Motion, RegionId, Tick};
use glam::{DVec3, Quat, Vec3};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use wire::replicate::{
    Absurd, BodyState, Parcel, ParcelError, Word, decode, encode, open_settled, seal, settled,
};

fn motion(x: f64) -> Motion {
    Motion {
        position: DVec3::new(x, -2.0, 1e6),
        rotation: Quat::from_rotation_y(0.3),
        linear_velocity: Vec3::new(1.0, -0.5, 3.25),
        angular_velocity: Vec3::Y,
    }
}

fn state(body: u64) -> BodyState {
    BodyState {
        body: BodyId(body),
        epoch: Epoch(3),
        version: 700,
        author: RegionId(2),
        home: RegionId(31),
        frozen: false,
        motion: motion(body as f64),
        base: None,
    }
}

fn sample() -> Parcel {
    let resting = BodyState {
        frozen: true,
        motion: Motion::at(DVec3::ONE),
        ..state(5)
    };
    let with_base = BodyState {
        base: Some(motion(0.25)),
        ..state(6)
    };
    Parcel {
        allocation: 4,
        from: RegionId(2),
        tick: Tick(12_345),
        words: vec![
            Word::Replicate(vec![state(1), resting, with_base]),
            Word::Transfer(vec![state(2)]),
            Word::Accept(vec![(BodyId(9), Epoch(4)), (BodyId(10), Epoch(0))]),
            Word::Contested(vec![state(3)]),
            Word::Settled(settled([state(7), state(8)].iter())),
            Word::Correct(vec![state(4)]),
            Word::Done {
                wrote: vec![(RegionId(0), RegionId(31)), (RegionId(300), RegionId(1))],
            },
            Word::Go {
                wrote: vec![(RegionId(1), RegionId(2))],
            },
        ],
    }
}

#[test]
fn a_parcel_comes_back_as_it_was() {
    let parcel = sample();
    let bytes = encode(&parcel).expect("sensible");
    assert_eq!(decode(&bytes).as_ref(), Ok(&parcel));
    let Word::Settled(inner) = &parcel.words[4] else {
        panic!("the sample has settled states");
    };
    assert_eq!(open_settled(inner), Ok(vec![state(7), state(8)]));
}

/// The sizes that docs/protocols/replicate.md gives.
#[test]
fn a_state_takes_71_bytes_and_24_fewer_at_rest() {
    let moving = settled([state(1)].iter()).len();
    let resting = BodyState {
        motion: Motion::at(DVec3::ZERO),
        ..state(1)
    };
    assert_eq!(moving, 71);
    assert_eq!(settled([resting].iter()).len(), moving - 24);
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let good = encode(&sample()).expect("sensible");
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bytes).is_err(), "bit {bit}");
    }
    for length in 0..good.len() {
        let mut bytes = good[..length].to_vec();
        seal(&mut bytes);
        assert!(decode(&bytes).is_err(), "{length} bytes");
    }
    let mut longer = good;
    longer.push(0);
    seal(&mut longer);
    assert!(decode(&longer).is_err());
}

#[test]
fn damaged_parcels_behind_the_checksum_never_panic() {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let good = encode(&sample()).expect("sensible");
    let mut valid = 0;
    for _ in 0..100_000 {
        let mut bytes = good.clone();
        for _ in 0..rng.random_range(1..4) {
            let at = rng.random_range(7..bytes.len());
            match rng.random_range(0..3) {
                0 => bytes[at] = rng.next_u32() as u8,
                1 => bytes[at] = [0, 0x7f, 0x80, 0xff][rng.random_range(0..4)],
                _ => bytes[at] ^= 1 << rng.random_range(0..8),
            }
        }
        seal(&mut bytes);
        if let Ok(parcel) = decode(&bytes) {
            let again = encode(&parcel).expect("what was decoded is sensible");
            assert_eq!(decode(&again), Ok(parcel));
            valid += 1;
        }
    }
    assert!(valid > 1_000, "the decoder's end is reached: {valid}");
}

/// What was before a change is told with the change, and a change has been counted.
#[test]
fn a_base_needs_a_version() {
    let with_base = |version| BodyState {
        version,
        base: Some(motion(0.25)),
        ..state(6)
    };
    assert_eq!(with_base(0).check(), Err(Absurd::Count(BodyId(6))));
    assert_eq!(with_base(1).check(), Ok(()));
    let never_changed = BodyState {
        version: 0,
        ..state(6)
    };
    assert_eq!(never_changed.check(), Ok(()), "it may be as it was made");
}

#[test]
fn a_count_takes_no_memory_it_has_no_bytes_for() {
    let mut bytes = b"AR\x01\0\0\0\0".to_vec();
    bytes.extend([0, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    seal(&mut bytes);
    assert!(matches!(decode(&bytes), Err(ParcelError::Malformed(_))));
    assert!(open_settled(&[0xff; 40]).is_err());
    assert!(open_settled(&[0; 10]).is_err());
}

#[test]
fn absurd_states_are_refused_by_both_ends() {
    let nan = BodyState {
        motion: motion(f64::NAN),
        ..state(1)
    };
    let mut fast = state(2);
    fast.motion.linear_velocity.x = 1e9;
    let mut twisted = state(3);
    twisted.motion.rotation = Quat::from_xyzw(9.0, 0.0, 0.0, 0.0);
    let nobody = BodyState {
        home: RegionId(1 << 20),
        ..state(4)
    };
    let worn_out = BodyState {
        version: u32::MAX,
        ..state(5)
    };
    for bad in [nan, fast, twisted, nobody, worn_out] {
        let parcel = Parcel {
            words: vec![Word::Replicate(vec![bad])],
            ..sample()
        };
        assert!(
            matches!(encode(&parcel), Err(ParcelError::Absurd(_))),
            "{bad:?}"
        );
        assert!(open_settled(&settled([bad].iter())).is_err());
    }
    let never = Parcel {
        tick: Tick(u64::MAX),
        ..sample()
    };
    assert_eq!(encode(&never), Err(ParcelError::Absurd(Absurd::Tick)));
}
