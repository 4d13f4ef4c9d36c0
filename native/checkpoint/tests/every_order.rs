// SPDX-License-Identifier: Apache-2.0
//! Every order in which a few inputs can deliver barriers and events, with the timeout at every point.
//!
//! `tests/property/test_checkpoint_every_order.py` does the same over both implementations, for fewer events. Every
//! schedule is checked for this: the cut of each complete checkpoint is consistent; every event is in the state or in
//! flight, once and in order; nothing is lost or doubled; snapshots, completions and aborts come exactly when they
//! must; and a run restored from the checkpoint processes what is left once, and cuts the next checkpoint at the same
//! place.
#![cfg(not(loom))]

use framegate_checkpoint::aligner::Limits;
use framegate_checkpoint::message::CheckpointBarrier;
use framegate_checkpoint::unaligned::{Captured, Options, Step, UnalignedCheckpointer};

const LIMITS: Limits = Limits { inputs: 2, events_per_input: 8, bytes: 1 << 20, timeout_ns: 10, floor: 0 };
const OPTIONS: Options =
    Options { is_enabled: true, is_forced: false, inflight_bytes: 1 << 20, inflight_events: 32, late_timeout_ns: None };
const EVENT: u8 = 0;

/// What an input delivers: `EVENT`, or the id of a barrier.
type Script = Vec<u8>;

/// A delivery, or the timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Move {
    Deliver(usize, u8),
    Timeout,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Told {
    Snapshot,
    Complete,
    Aborted,
}

/// Every script with these checkpoints and up to this many events.
fn scripts(checkpoints: u8, events_max: usize) -> Vec<Script> {
    let mut found = Vec::new();
    for events in 0..=events_max {
        place(checkpoints, 1, 0, &vec![EVENT; events], &mut found);
    }
    found
}

fn place(checkpoints: u8, id: u8, from: usize, script: &[u8], found: &mut Vec<Script>) {
    if id > checkpoints {
        return found.push(script.to_vec());
    }
    for at in from..=script.len() {
        let mut longer = script.to_vec();
        longer.insert(at, id);
        place(checkpoints, id + 1, at + 1, &longer, found);
    }
}

/// Every script in which one of these barriers was lost.
fn with_a_lost_barrier(checkpoints: u8, events_max: usize) -> Vec<Script> {
    let lost = |id: u8| {
        let others = scripts(checkpoints - 1, events_max);
        others.into_iter().map(move |script| script.into_iter().map(|symbol| symbol + u8::from(symbol >= id)).collect())
    };
    (1..=checkpoints).flat_map(lost).collect()
}

/// Carries out its steps, and remembers what its snapshots held.
#[derive(Default)]
struct Operator {
    processed: Vec<u64>,
    snapshots: Vec<(u64, Vec<u64>)>,
    told: Vec<(usize, Told, u64)>,
}

impl Operator {
    fn process(&mut self, input: usize, number: u64) {
        assert_eq!(number, self.processed[input], "lost, doubled or out of order at input {input}");
        self.processed[input] += 1;
    }

    fn obey(&mut self, step: &Step<u64>, at: usize) {
        match step {
            Step::PassThrough(input, number) | Step::Drain(input, number) | Step::Released(input, number) => {
                self.process(*input, *number);
            }
            Step::TriggerSnapshot(barrier, _) => {
                self.told.push((at, Told::Snapshot, barrier.checkpoint_id));
                self.snapshots.push((barrier.checkpoint_id, self.processed.clone()));
            }
            Step::Complete(barrier) => self.told.push((at, Told::Complete, barrier.checkpoint_id)),
            Step::Aborted(aborted) => self.told.push((at, Told::Aborted, aborted.barrier.checkpoint_id)),
            _ => (),
        }
    }
}

fn replay(schedule: &[Move], scripts: &[&Script]) {
    let inputs = scripts.len();
    let mut checkpointer = UnalignedCheckpointer::new(Limits { inputs, ..LIMITS }, OPTIONS);
    let mut operator = Operator { processed: vec![0; inputs], ..Operator::default() };
    let (mut sent, mut now_ns) = (vec![0; inputs], 0);
    for (at, &step) in schedule.iter().enumerate() {
        let act = &mut |step| operator.obey(&step, at);
        match step {
            Move::Timeout => {
                now_ns = 1000;
                checkpointer.on_tick(now_ns, act);
            }
            Move::Deliver(input, EVENT) => {
                checkpointer.event(input, sent[input], 1, now_ns, |number| *number, act);
                sent[input] += 1;
            }
            Move::Deliver(input, id) => {
                checkpointer.barrier(input, CheckpointBarrier::new(u64::from(id), 1), now_ns, act);
            }
        }
        for &(told_at, told, id) in &operator.told {
            if told == Told::Complete && told_at == at {
                check_cut(&checkpointer, &operator, id, scripts);
                check_restored(&checkpointer, &operator, id, scripts);
            }
        }
    }
    checkpointer.abort(None, &mut |step| operator.obey(&step, schedule.len()));
    assert_eq!(operator.processed, sent);
    operator.told.sort_unstable();
    assert_eq!(operator.told, expected(schedule, inputs), "{schedule:?}");
}

/// Checks that exactly the events before each barrier are in the state or in flight, once.
fn check_cut(checkpointer: &UnalignedCheckpointer<u64>, operator: &Operator, id: u64, scripts: &[&Script]) {
    let state = operator.snapshots.iter().find(|(snapshot, _)| *snapshot == id).expect("it was complete");
    for (input, script) in scripts.iter().enumerate() {
        let before = script.iter().take_while(|symbol| u64::from(**symbol) != id).filter(|symbol| **symbol == EVENT);
        let mut cut = state.1[input];
        for captured in checkpointer.captured(input) {
            assert_eq!(*captured, Captured::Event(cut));
            cut += 1;
        }
        assert_eq!(cut, before.count() as u64, "checkpoint {id}, input {input}");
    }
}

/// Checks that a new run processes from state and in-flight events everything that is left, once and in order, and that
/// its next checkpoint is whole.
fn check_restored(checkpointer: &UnalignedCheckpointer<u64>, before: &Operator, id: u64, scripts: &[&Script]) {
    let inputs = scripts.len();
    let (_, state) = before.snapshots.iter().find(|(snapshot, _)| *snapshot == id).expect("it was complete");
    let mut operator = Operator { processed: state.clone(), ..Operator::default() };
    let mut restored = UnalignedCheckpointer::new(Limits { inputs, floor: id, ..LIMITS }, OPTIONS);
    let barrier = CheckpointBarrier::new(id, 1);
    for input in 0..inputs {
        for captured in checkpointer.captured(input) {
            let Captured::Event(number) = captured else { unreachable!("there are no watermarks here") };
            restored.event(input, *number, 1, 0, |number| *number, &mut |step| operator.obey(&step, 0));
        }
        // The restored barrier follows what was in flight, and is ignored.
        restored.barrier(input, barrier, 0, &mut |step| operator.obey(&step, 0));
    }
    assert!(operator.told.is_empty() && !restored.is_under_way(), "checkpoint {id} is over: {:?}", operator.told);
    let mut next = operator.processed.clone();
    let rests: Vec<&[u8]> = scripts
        .iter()
        .map(|script| &script[1 + script.iter().position(|symbol| u64::from(*symbol) == id).expect("it is complete")..])
        .collect();
    for at in 0..rests.iter().map(|rest| rest.len()).max().unwrap_or(0) {
        for (input, rest) in rests.iter().enumerate() {
            let act = &mut |step| operator.obey(&step, at);
            match rest.get(at) {
                None => (),
                Some(&EVENT) => {
                    restored.event(input, next[input], 1, 0, |number| *number, act);
                    next[input] += 1;
                }
                Some(&later) => restored.barrier(input, CheckpointBarrier::new(u64::from(later), 1), 0, act),
            }
        }
    }
    restored.abort(None, &mut |step| operator.obey(&step, 0));
    let all: Vec<u64> =
        scripts.iter().map(|script| script.iter().filter(|symbol| **symbol == EVENT).count() as u64).collect();
    assert_eq!(operator.processed, all, "lost after a restore from checkpoint {id}");
    // A checkpoint whose barrier an input lost is not complete when the run ends.
    let wanted = u64::from(rests.iter().all(|rest| rest.iter().any(|symbol| *symbol != EVENT)));
    let complete = operator.told.iter().filter(|(_, told, _)| *told == Told::Complete).count() as u64;
    assert_eq!(complete, wanted, "the next checkpoint of a restored run");
    for (later, state) in &operator.snapshots {
        let cut: Vec<u64> = scripts.iter().map(|script| events_before(script, *later)).collect();
        assert_eq!(*state, cut, "checkpoint {later} after a restore");
    }
}

/// How many events stand before a barrier.
fn events_before(script: &Script, id: u64) -> u64 {
    script.iter().take_while(|symbol| u64::from(**symbol) != id).filter(|symbol| **symbol == EVENT).count() as u64
}

/// When each thing must happen, computed from the whole schedule instead of step by step.
fn expected(schedule: &[Move], inputs: usize) -> Vec<(usize, Told, u64)> {
    let end = schedule.len();
    let barriers: Vec<(usize, u8)> = schedule
        .iter()
        .enumerate()
        .filter_map(|(at, step)| match step {
            Move::Deliver(_, id) if *id != EVENT => Some((at, *id)),
            _ => None,
        })
        .collect();
    let mut told = Vec::new();
    for id in 1..=2 {
        let own: Vec<usize> = barriers.iter().filter(|(_, found)| *found == id).map(|(at, _)| *at).collect();
        let Some(&first) = own.first() else { continue };
        let higher: Vec<usize> = barriers.iter().filter(|(_, found)| *found > id).map(|(at, _)| *at).collect();
        if higher.first().is_some_and(|at| *at < first) {
            continue;
        }
        let last = if own.len() == inputs { own[inputs - 1] } else { end };
        let cancelled = higher.first().copied().unwrap_or(end);
        let struck = schedule.iter().position(|step| *step == Move::Timeout).filter(|at| *at > first).unwrap_or(end);
        if struck < cancelled.min(last) {
            told.push((struck, Told::Snapshot, u64::from(id)));
        } else if last < cancelled {
            told.push((last, Told::Snapshot, u64::from(id)));
        }
        let (at, what) = if last < cancelled { (last, Told::Complete) } else { (cancelled, Told::Aborted) };
        told.push((at, what, u64::from(id)));
    }
    told.sort_unstable();
    told
}

/// Runs every interleaving from here on; returns the number of schedules.
fn interleave(scripts: &[&Script], at: &mut [usize], so_far: &mut Vec<Move>) -> u64 {
    let mut count = 0;
    let mut is_done = true;
    for input in 0..scripts.len() {
        if let Some(&symbol) = scripts[input].get(at[input]) {
            is_done = false;
            at[input] += 1;
            so_far.push(Move::Deliver(input, symbol));
            count += interleave(scripts, at, so_far);
            so_far.pop();
            at[input] -= 1;
        }
    }
    if is_done {
        replay(so_far, scripts);
        for point in 0..=so_far.len() {
            so_far.insert(point, Move::Timeout);
            replay(so_far, scripts);
            so_far.remove(point);
        }
        count = so_far.len() as u64 + 2;
    }
    count
}

#[test]
fn two_inputs_up_to_two_checkpoints_and_three_events_each() {
    for checkpoints in 0..=2 {
        let (whole, mut count) = (scripts(checkpoints, 3), 0);
        let short = with_a_lost_barrier(checkpoints, 2);
        for one in whole.iter().chain(&short) {
            for other in &whole {
                count += interleave(&[one, other], &mut [0; 2], &mut Vec::new());
            }
        }
        println!("2 inputs, {checkpoints} checkpoints, up to 3 events: {count} schedules");
        assert!(count > 100);
    }
}

/// Run in release by `make long`.
#[test]
#[ignore = "tens of millions of schedules"]
fn three_inputs_one_checkpoint_and_up_to_three_events_each() {
    let (all, mut count) = (scripts(1, 3), 0);
    for (first, one) in all.iter().enumerate() {
        for (second, other) in all.iter().enumerate().skip(first) {
            for third in &all[second..] {
                count += interleave(&[one, other, third], &mut [0; 3], &mut Vec::new());
            }
        }
    }
    println!("3 inputs, 1 checkpoint, up to 3 events: {count} schedules");
    assert!(count > 1_000_000);
}
