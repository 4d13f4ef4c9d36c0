// SPDX-License-Identifier: Apache-2.0
//! Whatever comes, in any order: nothing panics, and no event is lost, doubled or out of order.
//!
//! Built with the overflow checks that a release leaves out, and fed with numbers near the limits of their types.
//! `FRAMEGATE_FUZZ_RUNS` sets the number of schedules of each kind; a failure names the seed of its schedule.
#![cfg(not(loom))]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use framegate_checkpoint::INPUTS_MAX;
use framegate_checkpoint::aligner::{Action, BarrierAligner, Limits};
use framegate_checkpoint::between::{Between, Claim, DescriptorStream, Place, Refusal};
use framegate_checkpoint::channel::{NotSent, channel};
use framegate_checkpoint::inflight::{encoded_bytes, read_records, write_records};
use framegate_checkpoint::injector::Injector;
use framegate_checkpoint::mapping::SharedWord;
use framegate_checkpoint::message::{CheckpointBarrier, EPOCH_MAX, StreamMessage, Watermark};
use framegate_checkpoint::signals::SignalCounter;
use framegate_checkpoint::unaligned::{Options, Step, UnalignedCheckpointer};

const RUNS: u64 = 3000;
const STEPS: u64 = 60;
const EXTREMES: [u64; 10] = [0, 1, 2, 7, 1 << 32, EPOCH_MAX, EPOCH_MAX + 1, i64::MAX as u64, u64::MAX - 1, u64::MAX];

/// splitmix64, which gives the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn is_heads(&mut self) -> bool {
        self.roll() & 1 == 1
    }

    /// A number that is mostly small, so that ids repeat, and otherwise near the limits of its type.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => EXTREMES[self.below(EXTREMES.len() as u64) as usize],
            1 => self.roll(),
            _ => self.below(7),
        }
    }

    fn barrier(&mut self) -> CheckpointBarrier {
        CheckpointBarrier::with(self.number(), self.number(), self.is_heads())
    }

    fn perhaps(&mut self) -> Option<u64> {
        self.is_heads().then(|| self.number())
    }

    fn limits(&mut self) -> Limits {
        let inputs = [1, 2, 3, INPUTS_MAX][self.below(4) as usize];
        let events_per_input = self.below(5) as usize;
        Limits { inputs, events_per_input, bytes: self.number(), timeout_ns: self.number(), floor: self.number() }
    }
}

fn in_any_order(mut schedule: impl FnMut(&mut Dice)) {
    let runs = std::env::var("FRAMEGATE_FUZZ_RUNS").map_or(RUNS, |runs| runs.parse().expect("a count"));
    for seed in 0..runs {
        let shown = Shown(seed);
        schedule(&mut Dice(seed));
        std::mem::forget(shown);
    }
}

/// Names the seed when a schedule panics.
struct Shown(u64);

impl Drop for Shown {
    fn drop(&mut self) {
        eprintln!("seed {}", self.0);
    }
}

/// Numbers the events of each input, and checks that they are processed in that order.
struct Events {
    sent: Vec<u64>,
    processed: Vec<u64>,
}

impl Events {
    fn of(inputs: usize) -> Self {
        Self { sent: vec![0; inputs], processed: vec![0; inputs] }
    }

    fn next(&mut self, input: usize) -> u64 {
        self.sent[input] += 1;
        self.sent[input] - 1
    }

    fn process(&mut self, input: usize, number: u64) {
        assert_eq!(number, self.processed[input], "lost, doubled or out of order at input {input}");
        self.processed[input] += 1;
    }
}

#[test]
fn an_aligner_takes_everything() {
    in_any_order(|dice| {
        let limits = dice.limits();
        let (mut aligner, mut events) = (BarrierAligner::new(limits), Events::of(limits.inputs));
        for _ in 0..STEPS {
            let (input, now_ns) = (dice.below(limits.inputs as u64) as usize, dice.number());
            let mut out = Vec::new();
            let release = &mut |input, number| out.push((input, number));
            match dice.below(16) {
                0 => drop(aligner.check_timeout(now_ns, release)),
                1 => drop(aligner.abort(dice.perhaps(), release)),
                2 => drop(aligner.end_input(input, now_ns)),
                3 => drop(aligner.lose_input(input, release)),
                4 => aligner.resume_input(input),
                5..=7 => drop(aligner.complete_alignment(release)),
                8 => {
                    let watermark = StreamMessage::Watermark(Watermark(dice.number() as i64));
                    drop(aligner.process(input, watermark, 0, now_ns, release));
                }
                9..=11 => {
                    drop(aligner.process(input, StreamMessage::Barrier(dice.barrier()), 0, now_ns, release));
                }
                _ => {
                    let (number, bytes) = (events.next(input), dice.number());
                    match aligner.process(input, StreamMessage::Event(number), bytes, now_ns, release) {
                        Ok(Action::PassThrough(passed)) => out.push((input, passed)),
                        Ok(Action::InputFull(_)) => events.sent[input] -= 1,
                        Ok(_) => (),
                        Err(refused) => panic!("an event always has its place: {refused:?}"),
                    }
                }
            }
            out.into_iter().for_each(|(input, number)| events.process(input, number));
            let _ = (aligner.operator_watermark(), aligner.pending(), aligner.aligned_inputs());
        }
        aligner.abort(None, &mut |input, number| events.process(input, number));
        assert_eq!(events.processed, events.sent);
    });
}

#[test]
fn a_checkpointer_takes_everything() {
    in_any_order(|dice| {
        let (limits, inflight_events) = (dice.limits(), dice.below(8) as usize);
        let options = Options {
            is_enabled: dice.is_heads(),
            is_forced: dice.is_heads(),
            inflight_bytes: dice.number(),
            inflight_events,
            late_timeout_ns: dice.perhaps(),
        };
        let (mut checkpointer, mut events) = (UnalignedCheckpointer::new(limits, options), Events::of(limits.inputs));
        for _ in 0..STEPS {
            let (input, now_ns) = (dice.below(limits.inputs as u64) as usize, dice.number());
            let mut out = Vec::new();
            let act = &mut |step| match step {
                Step::PassThrough(input, number) | Step::Drain(input, number) | Step::Released(input, number) => {
                    out.push((input, number));
                }
                _ => (),
            };
            match dice.below(18) {
                0 => checkpointer.on_tick(now_ns, act),
                1 => checkpointer.abort(dice.perhaps(), act),
                2 => checkpointer.end_input(input, now_ns, act),
                3 => checkpointer.lose_input(input, act),
                4 => checkpointer.resume_input(input),
                5 => checkpointer.fail(dice.perhaps(), act),
                6 => checkpointer.give_up_overdue(now_ns, act),
                7 => checkpointer.set_times(dice.is_heads(), dice.is_heads(), dice.number(), dice.perhaps()),
                8 => checkpointer.raise_floor(dice.number()),
                9 => checkpointer.watermark(input, Watermark(dice.number() as i64), now_ns, act),
                10..=12 => checkpointer.barrier(input, dice.barrier(), now_ns, act),
                _ => checkpointer.event(input, events.next(input), dice.number(), now_ns, |number| *number, act),
            }
            out.into_iter().for_each(|(input, number)| events.process(input, number));
            assert!(checkpointer.captured(input).count() <= inflight_events);
        }
        checkpointer.abort(None, &mut |step| {
            if let Step::Released(input, number) = step {
                events.process(input, number);
            }
        });
        assert_eq!(events.processed, events.sent);
    });
}

#[test]
fn an_injector_takes_every_word_and_never_goes_back() {
    let shared = Arc::new(SharedWord::anonymous().expect("a page"));
    in_any_order(|dice| {
        shared.word().store(0, Ordering::Relaxed);
        // Another process may have written any value there.
        let last = if dice.is_heads() { wide(dice) } else { 0 };
        shared.last().store(last, Ordering::Relaxed);
        let mut injector = Injector::new(Arc::clone(&shared), dice.perhaps());
        let mut before: Option<CheckpointBarrier> = None;
        for _ in 0..STEPS {
            let found = match dice.below(6) {
                0 => {
                    let _ = injector.handle().inject(dice.barrier());
                    None
                }
                1 => {
                    shared.word().store(wide(dice), Ordering::Relaxed);
                    None
                }
                2 => {
                    let noted = dice.barrier();
                    injector.note(noted);
                    before = before.max_by_id(noted);
                    None
                }
                3 => injector.poll_by_count(|| u64::MAX),
                _ => injector.poll(dice.number()),
            };
            if let Some(found) = found {
                assert!(found.checkpoint_id != 0 && found.epoch <= EPOCH_MAX);
                assert!(before.is_none_or(|before| before.checkpoint_id < found.checkpoint_id), "{before:?} {found:?}");
                before = Some(found);
            }
        }
    });
}

fn wide(dice: &mut Dice) -> u128 {
    u128::from(dice.number()) << 64 | u128::from(dice.roll())
}

trait MaxById {
    fn max_by_id(self, other: CheckpointBarrier) -> Self;
}

impl MaxById for Option<CheckpointBarrier> {
    fn max_by_id(self, other: CheckpointBarrier) -> Self {
        self.filter(|own| own.checkpoint_id >= other.checkpoint_id).or(Some(other))
    }
}

#[test]
fn signals_are_counted_whatever_they_are() {
    in_any_order(|dice| {
        let mut counter = SignalCounter::new(dice.below(4) as u32);
        for _ in 0..STEPS {
            match dice.below(4) {
                0 => drop(counter.end(dice.is_heads())),
                _ => drop(counter.arrive((dice.number(), dice.below(3) as u8))),
            }
        }
    });
}

#[test]
fn a_channel_gives_out_what_it_took_in_that_order() {
    in_any_order(|dice| {
        let capacity = dice.below(6) as usize;
        let (mut sender, mut receiver) = channel::<u64>(capacity);
        let (mut taken, mut found) = (Vec::new(), Vec::new());
        for step in 0..STEPS {
            match dice.below(9) {
                0..=3 => found.extend(receiver.pop()),
                4 if dice.below(20) == 0 => sender.close(),
                number => {
                    let message = match number {
                        5 => StreamMessage::Barrier(dice.barrier()),
                        6 => StreamMessage::Watermark(Watermark(dice.number() as i64)),
                        _ => StreamMessage::Event(step),
                    };
                    match sender.push(message.clone()) {
                        Ok(()) => taken.push(message),
                        Err(NotSent::Full(back) | NotSent::Closed(back)) => assert_eq!(back, message),
                    }
                }
            }
            assert!(sender.len() <= capacity.max(1) + 1);
        }
        found.extend(std::iter::from_fn(|| receiver.pop()));
        assert_eq!(found, taken);
    });
}

#[test]
fn in_flight_bytes_are_read_whole_or_refused() {
    in_any_order(|dice| {
        let records: Vec<Vec<u8>> =
            (0..dice.below(4)).map(|_| vec![dice.roll() as u8; dice.below(9) as usize]).collect();
        let all = || records.iter().map(Vec::as_slice);
        let mut data = vec![0; encoded_bytes(all())];
        assert_eq!(write_records(dice.roll() as u32, all(), &mut data), Some(data.len()));
        for _ in 0..dice.below(4) {
            let at = dice.below(data.len() as u64) as usize;
            data[at] = dice.roll() as u8;
        }
        data.truncate(dice.below(data.len() as u64 * 2) as usize);
        let mut bytes = 0;
        if read_records(&data, |record| bytes += record.len() + 4).is_ok() {
            assert_eq!(bytes + 12, data.len());
        }
    });
}

/// A descriptor stream that refuses at random.
struct Moody(std::cell::Cell<u64>);
struct NoRoom;

impl DescriptorStream for Moody {
    type Claim<'a> = NoRoom;

    fn claim(&self, _bytes: usize) -> Result<NoRoom, Refusal> {
        let mut dice = Dice(self.0.get());
        self.0.set(dice.roll());
        match dice.below(6) {
            0 => Err(Refusal::Full),
            1 => Err(Refusal::Unheard),
            2 => Err(Refusal::Closed),
            _ => Ok(NoRoom),
        }
    }
}

impl Claim for NoRoom {
    fn send(self, message: &[u8]) {
        std::hint::black_box(message);
    }
}

#[test]
fn a_producer_sends_between_its_frames_whatever_it_is_given() {
    let shared = Arc::new(SharedWord::anonymous().expect("a page"));
    in_any_order(|dice| {
        let (mut between, streams) =
            (Between::default(), [0, 1, 2].map(|seed| Moody(std::cell::Cell::new(dice.roll() ^ seed))));
        between.inject_by(Arc::clone(&shared), dice.perhaps());
        for _ in 0..STEPS {
            let place = Place {
                stream_id: dice.roll() as u32,
                source_epoch: dice.number(),
                after_seq: dice.perhaps(),
                position: dice.number(),
            };
            match dice.below(9) {
                0 => drop(between.hold(message(dice))),
                1 => between.force(dice.barrier()),
                2 => shared.word().store(wide(dice), Ordering::Relaxed),
                3 => between.leave_epoch(),
                4 => drop(between.is_due_at(dice.number())),
                5 => drop(between.is_due(|| u64::MAX)),
                6 => drop(between.take_lost_barrier()),
                _ => drop(between.send(&[&streams[0], &streams[1], &streams[2]], place, dice.number())),
            }
        }
        let counted = between.counters();
        assert!(counted.barriers_sent <= counted.sent);
    });
}

/// Bytes that begin like a message of schema 920 about half of the time, cut anywhere.
fn message(dice: &mut Dice) -> Vec<u8> {
    let header = dice.below(64) | dice.below(5) << 16 | 920 << 32 | 1 << 48;
    let mut bytes = header.to_le_bytes().to_vec();
    bytes.extend((0..8).flat_map(|_| dice.number().to_le_bytes()));
    bytes.truncate(dice.below(bytes.len() as u64 + 1) as usize);
    bytes
}
