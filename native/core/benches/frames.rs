// SPDX-License-Identifier: Apache-2.0
//! How long do one frame's claim and commit, and one view's validation, take, with the ring in the cache?
//!
//! One thread writes a ring full and reads it back, again and again; the payload is not copied. Prints one JSON line
//! a figure: the median of the rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use framegate_core::pool::reader::Reader;
use framegate_core::pool::region::{CreateOptions, Region};
use framegate_core::pool::regions::Regions;
use framegate_core::pool::superblock::Expected;
use framegate_core::pool::tensor::{ROW_MAJOR, Tensor};
use framegate_core::pool::writer::{Stamps, Writer};

const SLOTS: u32 = 128;
const ROUNDS: usize = 201;
const LAPS: u64 = 20;

fn regions(folder: &std::path::Path, stride_bytes: u32) -> Arc<Regions> {
    let ring = Expected { stream_id: 1, epoch: 1, pool_id: 0, nslots: SLOTS, stride_bytes: 0 };
    let options = CreateOptions { mode: 0o600, prefault: true, require_hugepages: false };
    let make = |name: &str, expected: &Expected| Region::create(&folder.join(name), expected, 1, 1, options);
    let header = make(&format!("{stride_bytes}.ring"), &ring).expect("room for a ring");
    let pool =
        make(&format!("{stride_bytes}.pool"), &Expected { pool_id: 1, stride_bytes, ..ring }).expect("and a pool");
    Arc::new(Regions::new(header, vec![pool]).expect("made for each other"))
}

fn median(mut nanoseconds: Vec<f64>) -> f64 {
    nanoseconds.sort_by(f64::total_cmp);
    nanoseconds[nanoseconds.len() / 2]
}

fn measure(folder: &std::path::Path, frame_bytes: u32) {
    let regions = regions(folder, frame_bytes.next_power_of_two().max(64));
    let tensor = Tensor::contiguous(1, ROW_MAJOR, &[480, (frame_bytes / 480) as i32]);
    let values_bytes = frame_bytes / 480 * 480;
    let mut writer = Writer::new(Arc::clone(&regions), tensor);
    let mut reader = Reader::new(regions);
    let (mut writing, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut written_ns, mut read_ns) = (0.0, 0.0);
        for _ in 0..LAPS {
            let first = writer.next_seq();
            let began = Instant::now();
            for _ in 0..SLOTS {
                let claim = writer.claim(values_bytes).expect("a pool holds it");
                black_box(writer.commit(&claim, Stamps::default()).expect("the tensor fits"));
            }
            written_ns += began.elapsed().as_nanos() as f64;
            let began = Instant::now();
            for seq in first..first + u64::from(SLOTS) {
                // SAFETY: the reader keeps the regions, and outlives the frame.
                let frame = unsafe { reader.read(seq) }.expect("nobody overwrote it");
                assert!(black_box(&frame).is_valid());
            }
            read_ns += began.elapsed().as_nanos() as f64;
        }
        let frames = (LAPS * u64::from(SLOTS)) as f64;
        writing.push(written_ns / frames);
        reading.push(read_ns / frames);
    }
    let how = format!("{SLOTS} slots in the cache, {ROUNDS} rounds of {} frames", LAPS * u64::from(SLOTS));
    for (name, found) in [("claim, commit, describe", writing), ("read and validate a view, twice", reading)] {
        let median_ns = median(found);
        println!(r#"{{"name":"{name}, {frame_bytes} bytes","median_ns":{median_ns:.2},"how":"{how}"}}"#);
    }
}

fn main() {
    let folder = std::env::temp_dir().join(format!("framegate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    for frame_bytes in [4 << 10, 640 << 10] {
        measure(&folder, frame_bytes);
    }
    std::fs::remove_dir_all(&folder).expect("it was ours");
}
