// SPDX-License-Identifier: Apache-2.0
//! Once every chunk was used, taking a frame takes nothing from the heap.

use framegate_recording::{Compression, Config, Descriptor, Recorder};

#[test]
fn frames_are_taken_without_allocating_once_every_chunk_was_used() {
    let folder = std::env::temp_dir().join(format!("framegate-no-allocation-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = Config {
        path: folder.join("out.mcap"),
        streams: vec![5],
        has_payload: false,
        compression: Compression::None,
        chunk_bytes: 64 * 1024,
        queue_bytes: 3 * 64 * 1024,
        chunk_ns: 1_000_000_000,
        library: "test".to_owned(),
        notes: Vec::new(),
    };
    let mut recorder = Recorder::create(&config).unwrap();
    let mut message = [0; 48];
    message[..8].copy_from_slice(&(40_u64 | 4 << 16 | 900 << 32 | 1 << 48).to_le_bytes());
    let mut take = |frames: std::ops::Range<u64>| {
        for seq in frames {
            recorder.frame(&Descriptor { stream: 0, epoch: 1, seq }, &message, Ok(None), seq, 0);
            if seq % 256 == 0 {
                recorder.turn(0);
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
        }
    };
    take(0..20_000);
    let counted = allocation_counter::measure(|| take(20_000..40_000));
    // The queue's own sending is the one thing left, and it is once a chunk of some hundred frames.
    assert!(counted.count_total < 20, "{} allocations for 20000 frames", counted.count_total);
    let ended = recorder.finish().unwrap();
    assert!(ended.accounts[0].frames() > 30_000);
    let _ = std::fs::remove_dir_all(&folder);
}
