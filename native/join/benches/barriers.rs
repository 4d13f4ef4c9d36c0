// SPDX-License-Identifier: Apache-2.0
//! What does a barrier cost for each observed frame: feeding it, and asking whether the output is ready?
//!
//! One thread. Every input shows every sequence once, in the order of the rules or in a new random order for each
//! output. After each observation the next output is asked for, as a join stage does. Prints one JSON line for each
//! figure: median, best and worst of the rounds, in nanoseconds for each input.

use std::hint::black_box;
use std::time::Instant;

use framegate_join::barrier::{Barrier, Kind, Observation};
use framegate_join::map::{Announced, RawRule};

const ROUNDS: usize = 31;
const OBSERVATIONS: usize = 1 << 16;

fn main() {
    for inputs in [2, 64, 256] {
        for is_shuffled in [false, true] {
            let order = order(inputs, is_shuffled);
            let how = if is_shuffled { "shuffled" } else { "in order" };
            let mut by_seq = Barrier::new(Kind::Sequence, 9, 0, &[]);
            apply(&mut by_seq, &rules(inputs, 0), None);
            report(&format!("by sequence, {inputs} inputs, {how}"), inputs, how, |from| {
                run(&mut by_seq, &order, inputs, from)
            });
            let mut by_time = Barrier::new(Kind::Timestamp, 9, 0, &[]);
            apply(&mut by_time, &rules(inputs, 0), Some((1, Some(0))));
            report(&format!("by timestamp, {inputs} inputs, {how}"), inputs, how, |from| {
                run(&mut by_time, &order, inputs, from)
            });
        }
    }
    applying();
}

fn rules(inputs: usize, offset: i64) -> Vec<RawRule> {
    let rule = |stream| RawRule { stream, rule_type: 0, source: 2, offset: Some(offset), window: None };
    (0..inputs as u32).map(rule).collect()
}

fn apply(barrier: &mut Barrier, rules: &[RawRule], times: Option<(u32, Option<u64>)>) {
    let announced = Announced { out_stream: 9, epoch: 0, stale_timeout_ns: None, times, rules };
    assert_eq!(barrier.apply(&announced), Ok(true));
}

/// The inputs in the order in which their frames come, output after output.
fn order(inputs: usize, is_shuffled: bool) -> Vec<u16> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut all = Vec::with_capacity(OBSERVATIONS);
    while all.len() + inputs <= OBSERVATIONS {
        let start = all.len();
        all.extend(0..inputs as u16);
        for place in (1..inputs).rev().filter(|_| is_shuffled) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            all.swap(start + place, start + (seed % (place as u64 + 1)) as usize);
        }
    }
    all
}

/// Every output becomes ready with the final input, and not before.
fn run(barrier: &mut Barrier, order: &[u16], inputs: usize, from: u64) -> u64 {
    let mut out = from;
    for arrivals in order.chunks_exact(inputs) {
        for (place, &index) in arrivals.iter().enumerate() {
            let seen = Observation { seq: out, epoch: Some(1), times: [out, u64::MAX] };
            barrier.observe(usize::from(index), black_box(&seen), out);
            let is_ready = barrier.attempt(out, out).is_ok();
            assert_eq!(black_box(is_ready), place + 1 == inputs);
        }
        out += 1;
    }
    out
}

fn report(name: &str, inputs: usize, how: &str, mut run: impl FnMut(u64) -> u64) {
    let mut from = 0;
    let mut costs = Vec::new();
    for _ in 0..=ROUNDS {
        let began = Instant::now();
        let next = run(from);
        costs.push(began.elapsed().as_nanos() as f64 / ((next - from) as usize * inputs) as f64);
        from = next;
    }
    print(name, inputs, &format!("{ROUNDS} rounds of {OBSERVATIONS} observations, {how}"), costs);
}

/// The same 64 rules with a new offset each time, so that no map is skipped as identical.
fn applying() {
    let maps = [rules(64, 0), rules(64, -1)];
    let mut barrier = Barrier::new(Kind::Sequence, 9, 0, &[]);
    let mut costs = Vec::new();
    for _ in 0..=ROUNDS {
        let began = Instant::now();
        for call in 0..1000 {
            apply(&mut barrier, black_box(&maps[call % 2]), None);
        }
        costs.push(began.elapsed().as_nanos() as f64 / 1000.0);
    }
    print("apply a map of 64 rules", 0, &format!("{ROUNDS} rounds of 1000 changed maps"), costs);
}

fn print(name: &str, inputs: usize, how: &str, mut costs: Vec<f64>) {
    // The first round is a warm-up.
    costs.remove(0);
    costs.sort_by(f64::total_cmp);
    let (best, median, worst) = (costs[0], costs[costs.len() / 2], costs[costs.len() - 1]);
    println!(
        r#"{{"name":"{name}","inputs":{inputs},"median_ns":{median:.2},"best":{best:.2},"worst":{worst:.2},"how":"{how}"}}"#
    );
}
