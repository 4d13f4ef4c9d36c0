// SPDX-License-Identifier: Apache-2.0
//! What does copying a payload into the journal cost, compared with the bare copy of the same bytes?
//!
//! One thread. Payloads come from a ring and go into 256 MiB, one after another, all of it touched before. Prints one
//! JSON line for each figure: the median, best and worst of the rounds, in GB/s.

use std::time::Instant;

use framegate_journal::copy::copy_with_crc;

const ROUNDS: usize = 9;
const TARGET_BYTES: usize = 256 << 20;
/// Columns of payloads begin at a multiple of this.
const LINE_BYTES: usize = 64;

fn main() {
    let mut target = vec![1_u8; TARGET_BYTES + LINE_BYTES];
    let aligned = target.as_ptr().align_offset(LINE_BYTES);
    let target = &mut target[aligned..aligned + TARGET_BYTES];
    for (payload, slots) in [(4 << 10, 1024), (4 << 10, 16_384), (64 << 10, 1024), (640 << 10, 64), (4096 << 10, 64)] {
        let ring: Vec<u8> = (0..payload * slots).map(|index| (index * 31) as u8).collect();
        let name = |what: &str| format!("{what}, {} KiB from a ring of {} MiB", payload >> 10, ring.len() >> 20);
        report(&name("copy with its CRC"), &ring, target, payload, |from, to, bytes| {
            // SAFETY: both ranges are valid for this many bytes, by `round`.
            unsafe { copy_with_crc(from, to, bytes, 0) }
        });
        report(&name("bare copy"), &ring, target, payload, |from, to, bytes| {
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            0
        });
    }
}

fn report(
    name: &str,
    ring: &[u8],
    target: &mut [u8],
    payload: usize,
    mut copy: impl FnMut(*const u8, *mut u8, usize) -> u32,
) {
    let mut rates: Vec<f64> = (0..=ROUNDS).map(|_| round(ring, target, payload, &mut copy)).collect();
    // The first round is a warm-up.
    rates.remove(0);
    rates.sort_by(f64::total_cmp);
    let (worst, median, best) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
    println!(r#"{{"name":"{name}","median_gbs":{median:.2},"best":{best:.2},"worst":{worst:.2}}}"#);
}

fn round(
    ring: &[u8],
    target: &mut [u8],
    payload: usize,
    copy: &mut impl FnMut(*const u8, *mut u8, usize) -> u32,
) -> f64 {
    let began = Instant::now();
    let mut from = 0;
    let mut crcs = 0;
    for place in target.chunks_exact_mut(payload) {
        crcs ^= copy(ring[from..from + payload].as_ptr(), place.as_mut_ptr(), payload);
        from = if from + 2 * payload > ring.len() { 0 } else { from + payload };
    }
    framegate_core::pool::copy::fence();
    std::hint::black_box(crcs);
    (TARGET_BYTES / payload * payload) as f64 / began.elapsed().as_nanos() as f64
}
