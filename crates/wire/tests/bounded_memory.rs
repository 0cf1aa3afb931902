//! No bytes make the decoder take much more memory than they have themselves.
//! This file has one test only: the allocator counts for the whole process.

mod common;

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wire::{decode, encode, seal};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most memory that decoding these bytes took at any moment.
fn peak_of(bytes: &[u8]) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    drop(decode(bytes));
    PEAK.load(Relaxed) - before
}

/// The worst is a list of the shortest messages: two bytes each promise room for a whole `Message`.
const MOST_PER_BYTE: usize = size_of::<wire::Message>() / 2 + 8;
/// An error has a path.
const MOST_AT_REST: usize = 1024;

#[test]
fn decoding_takes_a_bounded_multiple_of_the_bytes() {
    let check = |bytes: &mut Vec<u8>| {
        seal(bytes);
        let peak = peak_of(bytes);
        assert!(
            peak <= bytes.len() * MOST_PER_BYTE + MOST_AT_REST,
            "{} bytes took {peak}",
            bytes.len()
        );
        peak
    };
    // Counts that promise the most the rest could hold, and counts that promise the moon.
    for count in [
        &[0x7f_u8][..],
        &[0xff, 0x7f],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    ] {
        for tag in 0..9_u8 {
            let mut bytes = b"AM\x01\0\0\0\0\x01\x02\x00\x00\x01".to_vec();
            bytes.push(tag);
            bytes.extend(count);
            bytes.extend([1; 20_000]);
            check(&mut bytes);
        }
    }
    let good = encode(&common::sample()).expect("the sample is valid");
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for _ in 0..50_000 {
        let mut bytes = good.clone();
        for _ in 0..rng.random_range(0..3) {
            let at = rng.random_range(7..bytes.len());
            bytes[at] = rng.next_u32() as u8;
        }
        check(&mut bytes);
    }
    // The largest there can be.
    let mut bytes = b"AM\x01\0\0\0\0\x01\x02\x00\x00\x80\x80\x08".to_vec();
    bytes.resize(wire::MAX_ENVELOPE_BYTES, 4);
    let peak = check(&mut bytes);
    assert!(peak <= 64 << 20, "{peak}");
}
