// SPDX-License-Identifier: Apache-2.0
//! What does each step of a checkpoint cost: asking, sending, aligning, overtaking, writing?
//!
//! One thread, events of 40 bytes, memory touched before. Prints one JSON line for each figure: median, best and worst
//! of the rounds after a warm-up, and how often the timed paths allocated in a separate round.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use framegate_checkpoint::aligner::{Action, BarrierAligner, Limits};
use framegate_checkpoint::channel::channel;
use framegate_checkpoint::inflight::{encoded_bytes, read_records, write_records};
use framegate_checkpoint::injector::Injector;
use framegate_checkpoint::mapping::SharedWord;
use framegate_checkpoint::message::{CheckpointBarrier, StreamMessage};
use framegate_checkpoint::unaligned::{Options, Step, UnalignedCheckpointer};
use framegate_core::clock::monotonic_ns;

const ROUNDS: usize = 31;
/// The size of a descriptor.
type Event = [u64; 5];
const EVENT: Event = [7; 5];
const LIMITS: Limits = Limits { inputs: 2, events_per_input: 100_000, bytes: 1 << 30, timeout_ns: 1000, floor: 0 };
const OPTIONS: Options = Options {
    is_enabled: true,
    is_forced: false,
    inflight_bytes: 1 << 30,
    inflight_events: 1 << 18,
    late_timeout_ns: None,
};

fn main() {
    bench_poll_barrier_no_pending();
    poll_with_an_interval();
    bench_poll_barrier_with_pending();
    bench_barrier_processing();
    bench_barrier_injection_throughput();
    bench_stream_message_push_pop();
    bench_single_input_alignment();
    bench_two_input_alignment();
    alignment_state_bytes();
    bench_event_buffering();
    bench_buffer_drain_10k();
    bench_alignment_with_100k_buffered();
    bench_unaligned_trigger();
    bench_inflight_capture_10k();
    bench_inflight_serialize_1mb();
    bench_mode_switch();
    bench_unaligned_recovery_10k_inflight();
}

fn injector() -> Injector {
    Injector::new(Arc::new(SharedWord::anonymous().expect("a page")), None)
}

fn aligner(inputs: usize) -> BarrierAligner<Event> {
    let mut made = BarrierAligner::new(Limits { inputs, ..LIMITS });
    made.prefault();
    made
}

fn checkpointer() -> UnalignedCheckpointer<Event> {
    let mut made = UnalignedCheckpointer::new(LIMITS, OPTIONS);
    made.prefault();
    made
}

fn nowhere(_: usize, event: Event) {
    black_box(event);
}

/// Times `work`, which does this many operations in each call and returns the nanoseconds it measured.
fn report(name: &str, operations: f64, how: &str, mut work: impl FnMut() -> f64) {
    let _warm = work();
    let mut costs: Vec<f64> = (0..ROUNDS).map(|_| work() / operations).collect();
    costs.sort_by(f64::total_cmp);
    let allocations = allocation_counter::measure(|| {
        work();
    })
    .count_total;
    let (best, median, worst) = (costs[0], costs[costs.len() / 2], costs[costs.len() - 1]);
    println!(
        r#"{{"name":"{name}","median_ns":{median:.3},"best":{best:.3},"worst":{worst:.3},"allocations":{allocations},"how":"{ROUNDS} rounds of {how}"}}"#
    );
}

fn timed(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_nanos() as f64
}

fn bench_poll_barrier_no_pending() {
    let mut injector = injector();
    report("bench_poll_barrier_no_pending", 1e6, "1000000 polls", || {
        timed(|| (0..1_000_000).for_each(|now_ns| assert!(black_box(injector.poll(black_box(now_ns))).is_none())))
    });
}

/// As a producer polls: the clock is read at every 64th poll.
fn poll_with_an_interval() {
    let mut injector = Injector::new(Arc::new(SharedWord::anonymous().expect("a page")), Some(3_600_000_000_000));
    report("poll_with_an_interval", 1e6, "1000000 polls, an interval of an hour", || {
        timed(|| {
            (0..1_000_000).for_each(|_| assert!(black_box(injector.poll_by_count(black_box(monotonic_ns))).is_none()));
        })
    });
}

fn bench_poll_barrier_with_pending() {
    let (mut injector, mut id) = (injector(), 0);
    let handle = injector.handle();
    report("bench_poll_barrier_with_pending", 1e5, "100000 commands, each injected and taken", || {
        timed(|| {
            for _ in 0..100_000 {
                id += 1;
                handle.inject(black_box(CheckpointBarrier::new(id, 1))).expect("it fits");
                assert!(black_box(injector.poll(0)).is_some());
            }
        })
    });
}

fn bench_barrier_processing() {
    let (mut sender, mut receiver) = channel::<Event>(64);
    let (mut onward, mut end) = channel::<Event>(64);
    let mut id = 0;
    report(
        "bench_barrier_processing",
        1e5,
        "100000 barriers, received from one channel and forwarded to another",
        || {
            let mut spent_ns = 0.0;
            for _ in 0..100_000 / 50 {
                for _ in 0..50 {
                    id += 1;
                    let _ = sender.push(StreamMessage::Barrier(CheckpointBarrier::new(id, 1)));
                }
                spent_ns += timed(|| {
                    while let Some(message) = receiver.pop() {
                        assert!(onward.push(message).is_ok());
                    }
                });
                while black_box(end.pop()).is_some() {}
            }
            spent_ns
        },
    );
}

fn bench_barrier_injection_throughput() {
    // The injector's own pace: every poll is due.
    let mut injector = Injector::new(Arc::new(SharedWord::anonymous().expect("a page")), Some(1));
    let (mut now_ns, mut injected) = (0, 0_u64);
    report("bench_barrier_injection_throughput", 1e6, "1000000 polls that are all due", || {
        timed(|| {
            for _ in 0..1_000_000 {
                now_ns += 1;
                injected += u64::from(black_box(injector.poll(black_box(now_ns))).is_some());
            }
        })
    });
    assert_eq!(injected, now_ns - 1, "the first poll begins the interval");
}

fn bench_stream_message_push_pop() {
    let (mut sender, mut receiver) = channel::<Event>(1024);
    report("bench_stream_message_push_pop", 1e5, "100000 events of 40 bytes", || {
        timed(|| {
            for _ in 0..100_000 {
                assert!(sender.push(black_box(StreamMessage::Event(EVENT))).is_ok());
                black_box(receiver.pop());
            }
        })
    });
}

fn bench_single_input_alignment() {
    let (mut aligner, mut id) = (aligner(1), 0);
    report("bench_single_input_alignment", 1e5, "100000 barriers, triggered and completed", || {
        timed(|| {
            for _ in 0..100_000 {
                id += 1;
                let barrier = StreamMessage::Barrier(CheckpointBarrier::new(id, 1));
                let action = aligner.process(0, black_box(barrier), 0, 0, &mut nowhere);
                let Ok(Action::TriggerSnapshot(triggered)) = action else { unreachable!("one input is all") };
                assert_eq!(triggered.checkpoint_id, id);
                aligner.complete_alignment(&mut nowhere).expect("it was triggered");
            }
        })
    });
}

fn bench_two_input_alignment() {
    let (mut aligner, mut id) = (aligner(2), 0);
    report("bench_two_input_alignment", 1e5, "100000 alignments of two barriers, completed", || {
        timed(|| {
            for _ in 0..100_000 {
                id += 1;
                let barrier = StreamMessage::Barrier(CheckpointBarrier::new(id, 1));
                black_box(aligner.process(0, black_box(barrier.clone()), 0, 0, &mut nowhere).is_ok());
                black_box(aligner.process(1, black_box(barrier), 0, 0, &mut nowhere).is_ok());
                aligner.complete_alignment(&mut nowhere).expect("it was triggered");
            }
        })
    });
}

/// Nanoseconds for buffering and for draining this many events.
fn buffered(aligner: &mut BarrierAligner<Event>, id: u64, events: usize) -> (f64, f64) {
    let barrier = StreamMessage::Barrier(CheckpointBarrier::new(id, 1));
    let _ = aligner.process(0, barrier.clone(), 0, 0, &mut nowhere);
    let buffering = timed(|| {
        for _ in 0..events {
            let action = aligner.process(0, black_box(StreamMessage::Event(EVENT)), 40, 0, &mut nowhere);
            assert!(matches!(action, Ok(Action::Buffered)));
        }
    });
    let _ = aligner.process(1, barrier, 0, 0, &mut nowhere);
    let draining = timed(|| aligner.complete_alignment(&mut nowhere).expect("it was triggered"));
    (buffering, draining)
}

/// What an alignment takes of memory, on the heap too.
fn alignment_state_bytes() {
    let limits = Limits { inputs: 2, events_per_input: 0, ..LIMITS };
    let mut made = None;
    let heap = allocation_counter::measure(|| made = Some(BarrierAligner::<Event>::new(limits)));
    drop(made);
    let bytes = size_of::<BarrierAligner<Event>>() as u64 + heap.bytes_current.unsigned_abs();
    report("alignment_state_bytes", 1.0, "an aligner, with its history of ids and the records of both inputs", || {
        bytes as f64
    });
}

fn bench_event_buffering() {
    let (mut aligner, mut id) = (aligner(2), 0);
    report("bench_event_buffering", 1e4, "10000 events of 40 bytes", || {
        id += 1;
        buffered(&mut aligner, id, 10_000).0
    });
}

fn bench_buffer_drain_10k() {
    let (mut aligner, mut id) = (aligner(2), 0);
    report("bench_buffer_drain_10k", 1e4, "10000 events of 40 bytes", || {
        id += 1;
        buffered(&mut aligner, id, 10_000).1
    });
}

fn bench_alignment_with_100k_buffered() {
    let (mut aligner, mut id) = (aligner(2), 0);
    report("bench_alignment_with_100k_buffered", 1.0, "the drain of 100000 events of 40 bytes", || {
        id += 1;
        buffered(&mut aligner, id, 100_000).1
    });
}

fn bench_unaligned_trigger() {
    // Many inputs, so that the timed part is long compared to reading the clock: from the timer to the snapshot's
    // action.
    let (limits, options) = (Limits { events_per_input: 16, ..LIMITS }, Options { inflight_events: 16, ..OPTIONS });
    let mut all: Vec<UnalignedCheckpointer<Event>> =
        (0..256).map(|_| UnalignedCheckpointer::new(limits, options)).collect();
    let mut id = 0;
    report("bench_unaligned_trigger", 256.0 * 40.0, "10240 switches by the timer, over 256 checkpointers", || {
        let mut spent_ns = 0.0;
        for _ in 0..40 {
            id += 1;
            let barrier = CheckpointBarrier::new(id, 1);
            all.iter_mut().for_each(|each| each.barrier(0, barrier, 0, &mut drop));
            let mut snapshots = 0;
            let mut count = |step| snapshots += u32::from(matches!(step, Step::TriggerSnapshot(..)));
            spent_ns += timed(|| all.iter_mut().for_each(|each| each.on_tick(2000, &mut count)));
            assert_eq!(snapshots, 256);
            all.iter_mut().for_each(|each| each.barrier(1, barrier, 0, &mut drop));
        }
        spent_ns
    });
}

fn captured(checkpointer: &mut UnalignedCheckpointer<Event>, id: u64, events: usize) -> f64 {
    let barrier = CheckpointBarrier::new_unaligned(id, 1);
    checkpointer.barrier(0, barrier, 0, &mut drop);
    let spent_ns = timed(|| {
        for _ in 0..events {
            checkpointer.event(1, black_box(EVENT), 40, 0, |event| *event, &mut |step| {
                black_box(step);
            });
        }
    });
    assert_eq!(checkpointer.captured(1).count(), events);
    checkpointer.barrier(1, barrier, 0, &mut drop);
    spent_ns
}

fn bench_inflight_capture_10k() {
    let (mut checkpointer, mut id) = (checkpointer(), 0);
    report("bench_inflight_capture_10k", 1.0, "10000 events of 40 bytes", || {
        id += 1;
        captured(&mut checkpointer, id, 10_000)
    });
}

fn bench_inflight_serialize_1mb() {
    // Each payload lies elsewhere, as captured frames do.
    let captured: Vec<u8> = (0..1024 * 1024_u32).map(|at| at as u8).collect();
    let records = || black_box(&captured).chunks_exact(1024);
    let mut out = vec![1u8; encoded_bytes(records())];
    let bytes = out.len() as f64;
    report("bench_inflight_serialize_1mb", bytes, "1024 records of 1 KiB, nanoseconds a byte", || {
        timed(|| assert!(black_box(write_records(1, records(), black_box(&mut out))).is_some()))
    });
    assert!(out.ends_with(&captured[1023 * 1024..]));
}

fn bench_mode_switch() {
    let (mut checkpointer, mut id) = (checkpointer(), 0);
    report("bench_mode_switch", 1.0, "a switch with 10000 events that wait, drained", || {
        id += 1;
        let barrier = CheckpointBarrier::new(id, 1);
        checkpointer.barrier(0, barrier, 0, &mut drop);
        for _ in 0..10_000 {
            checkpointer.event(0, EVENT, 40, 0, |event| *event, &mut drop);
        }
        let mut steps = 0;
        let mut count = |step| {
            black_box(step);
            steps += 1;
        };
        let spent_ns = timed(|| checkpointer.on_tick(2000, &mut count));
        assert_eq!(steps, 10_002);
        checkpointer.barrier(1, barrier, 0, &mut drop);
        spent_ns
    });
}

fn bench_unaligned_recovery_10k_inflight() {
    let record = [5u8; 1024];
    let records = || (0..10_000).map(|_| &record[..]);
    let mut file = vec![0u8; encoded_bytes(records())];
    write_records(1, records(), &mut file).expect("it fits");
    let mut aligner = aligner(2);
    let mut id = 0;
    let mut payload = [0u8; 1024];
    report(
        "bench_unaligned_recovery_10k_inflight",
        1.0,
        "10000 records of 1 KiB read, processed and copied, then their barrier",
        || {
            id += 1;
            timed(|| {
                let input = read_records(&file, |bytes| {
                    let event = [bytes.len() as u64, u64::from(bytes[0]), 0, 0, 0];
                    let action = aligner.process(1, StreamMessage::Event(event), 1024, 0, &mut nowhere);
                    assert!(matches!(action, Ok(Action::PassThrough(_))));
                    // As a join does with what it replays.
                    black_box(&mut payload).copy_from_slice(bytes);
                });
                assert_eq!(input, Ok(1));
                let barrier = StreamMessage::Barrier(CheckpointBarrier::new(id, 1));
                for input in 0..2 {
                    black_box(aligner.process(input, barrier.clone(), 0, 0, &mut nowhere).is_ok());
                }
                aligner.complete_alignment(&mut nowhere).expect("it was triggered");
            })
        },
    );
}
