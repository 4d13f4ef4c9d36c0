// SPDX-License-Identifier: Apache-2.0
//! What does the join stage cost for each row: taking a frame of every input, asking after each, and joining?
//!
//! One thread; every frame is there and readable. Prints one JSON line for each figure: median, best and worst of the
//! rounds, in nanoseconds for each row; and the cost of asking while an output is not ready.

use std::hint::black_box;
use std::time::Instant;

use framegate_join::map::{Announced, RawRule};
use framegate_join::stage::{Drive, InputConfig, Observed, PolicyKind, Stage, StageConfig};

const ROUNDS: usize = 31;
const ROWS: u64 = 1 << 12;

fn main() {
    for inputs in [2, 4, 8, 16, 32, 64, 128] {
        for (name, policy, drive) in [
            ("sequence", PolicyKind::Sequence, Drive::Counter),
            ("timestamp", PolicyKind::Timestamp, Drive::Input(0)),
            ("latest", PolicyKind::Latest, Drive::Input(0)),
        ] {
            let mut stage = stage(policy, drive, inputs);
            let mut from = 1;
            let rows = report(&format!("a row by {name}, {inputs} inputs"), || {
                let made = run(&mut stage, inputs, from);
                from += ROWS;
                made
            });
            assert!(rows >= ROUNDS as u64 * (ROWS - 1), "{name}: {rows} rows");
            waiting(&mut stage, name, inputs, from);
        }
    }
}

fn stage(policy: PolicyKind, drive: Drive, inputs: usize) -> Stage {
    let config = StageConfig {
        policy,
        out_stream: 9,
        inputs: (0..inputs as u32).map(InputConfig::of).collect(),
        drive,
        first: None,
        is_late_stalled: false,
        is_ordered_by_time: false,
        max_skew_ns: 0,
        max_age_ns: 0,
        out_epoch: 0,
        history: 4096,
    };
    let mut stage = Stage::new(config);
    let rule = |stream| RawRule { stream, rule_type: 0, source: 2, offset: Some(0), window: None };
    let rules: Vec<RawRule> = (0..inputs as u32).map(rule).collect();
    let times = (policy == PolicyKind::Timestamp).then_some((1, None));
    let announced = Announced { out_stream: 9, epoch: 0, stale_timeout_ns: None, times, rules: &rules };
    assert_eq!(stage.apply(&announced, 1), Ok(true));
    stage
}

fn seen(seq: u64) -> Observed {
    Observed { epoch: 1, seq, descriptor_timestamp_ns: seq * 1000, slot_timestamp_ns: seq * 1000, trace_id: seq }
}

/// The driving input comes last, so that each row is asked for in vain before.
fn run(stage: &mut Stage, inputs: usize, from: u64) -> u64 {
    let mut rows = 0;
    for seq in from..from + ROWS {
        for stream in (0..inputs).rev() {
            stage.observe(stream, &seen(seq), seq);
            if let Some(attempt) = stage.next(seq) {
                black_box(attempt.picks());
                stage.joined(seq);
                rows += 1;
            }
        }
        stage.drain_unmatched(|_| true);
    }
    rows
}

fn waiting(stage: &mut Stage, name: &str, inputs: usize, from: u64) {
    for stream in 1..inputs {
        stage.observe(stream, &seen(from), from);
    }
    report(&format!("asked in vain by {name}, {inputs} inputs"), || {
        for _ in 0..ROWS {
            assert!(black_box(stage.next(from)).is_none());
        }
        0
    });
}

fn report(what: &str, mut round: impl FnMut() -> u64) -> u64 {
    let mut rows = 0;
    let mut nanoseconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            rows += round();
            began.elapsed().as_nanos() as f64 / ROWS as f64
        })
        .collect();
    nanoseconds.sort_by(f64::total_cmp);
    let (best, median, worst) = (nanoseconds[0], nanoseconds[ROUNDS / 2], nanoseconds[ROUNDS - 1]);
    println!("{{\"what\":\"{what}\",\"ns\":{median:.1},\"best\":{best:.1},\"worst\":{worst:.1}}}");
    rows
}
