// SPDX-License-Identifier: Apache-2.0
//! Nothing allocates once it is made.
#![cfg(not(loom))]

use std::hint::black_box;
use std::sync::Arc;

use framegate_checkpoint::aligner::{BarrierAligner, Limits};
use framegate_checkpoint::channel::channel;
use framegate_checkpoint::injector::Injector;
use framegate_checkpoint::mapping::SharedWord;
use framegate_checkpoint::message::{CheckpointBarrier, StreamMessage, Watermark};
use framegate_checkpoint::unaligned::{Options, UnalignedCheckpointer};

const LIMITS: Limits = Limits { inputs: 128, events_per_input: 40, bytes: 1 << 20, timeout_ns: 10, floor: 0 };
const OPTIONS: Options = Options {
    is_enabled: true,
    is_forced: false,
    inflight_bytes: 1 << 20,
    inflight_events: 1 << 14,
    late_timeout_ns: Some(10),
};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

fn nowhere(_: usize, event: u64) {
    black_box(event);
}

#[test]
fn the_witness_sees_an_allocation() {
    assert_eq!(allocations(|| drop(black_box(vec![1u8; 64]))), 1);
}

#[test]
fn test_injector_poll_barrier_fast_path_no_alloc() {
    let mut injector = Injector::new(Arc::new(SharedWord::anonymous().expect("a page")), Some(100));
    let handle = injector.handle();
    let work = || {
        for now_ns in 0..1000 {
            black_box(injector.poll(now_ns));
            black_box(injector.poll_by_count(|| now_ns));
            let _ = handle.inject(CheckpointBarrier::new(now_ns, now_ns));
        }
    };
    assert_eq!(allocations(work), 0);
    assert!(injector.counters().barriers_injected > 100);
}

#[test]
fn test_complete_alignment_reuses_drain_queue() {
    let mut aligner = BarrierAligner::new(LIMITS);
    let work = || {
        for id in 1..20 {
            for input in 0..128 {
                let barrier = StreamMessage::Barrier(CheckpointBarrier::new(id, 1));
                black_box(aligner.process(input, barrier, 0, id, &mut nowhere).is_ok());
                for event in 0..41 {
                    black_box(aligner.process(input, StreamMessage::Event(event), 8, id, &mut nowhere).is_ok());
                }
                let watermark = StreamMessage::Watermark(Watermark(id as i64));
                black_box(aligner.process(input, watermark, 0, id, &mut nowhere).is_ok());
            }
            match id % 3 {
                0 => drop(black_box(aligner.abort(None, &mut nowhere))),
                _ => aligner.complete_alignment(&mut nowhere).expect("all barriers came"),
            }
        }
    };
    assert_eq!(allocations(work), 0);
    assert!(aligner.counters().total_events_buffered > 90_000);
}

#[test]
fn no_checkpointer_allocates_whatever_it_switches_for() {
    let mut checkpointer = UnalignedCheckpointer::new(LIMITS, OPTIONS);
    let work = || {
        for id in 1..40 {
            for input in 0..128 {
                checkpointer.barrier(input, CheckpointBarrier::with(id, 1, id % 4 == 0), 0, &mut |step| {
                    black_box(step);
                });
                for event in 0..if id % 5 == 0 { 41 } else { 3 } {
                    let other = (input + 64) % 128;
                    checkpointer.event(input, event, 8, 0, |event| *event, &mut drop);
                    checkpointer.event(other, event, 8, 0, |event| *event, &mut drop);
                    checkpointer.watermark(other, Watermark(1), 0, &mut drop);
                }
                if id % 3 == 0 && input == 60 {
                    checkpointer.on_tick(11, &mut drop);
                }
            }
            if id % 7 == 0 {
                checkpointer.abort(Some(id), &mut drop);
            }
        }
    };
    assert_eq!(allocations(work), 0);
    let done = checkpointer.counters();
    assert!(done.threshold_switches > 0 && done.limit_switches > 0 && done.total_inflight_bytes > 0, "{done:?}");
}

#[test]
fn a_channel_does_not_allocate() {
    let (mut sender, mut receiver) = channel(4);
    let work = || {
        for event in 0..100 {
            let _ = black_box(sender.push(StreamMessage::Event(event)));
            let _ = black_box(sender.push(StreamMessage::Barrier(CheckpointBarrier::new(1, 1))));
            black_box(receiver.pop());
        }
    };
    assert_eq!(allocations(work), 0);
}
