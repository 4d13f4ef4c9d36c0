// SPDX-License-Identifier: Apache-2.0
//! How many nanoseconds does a SequenceMergeMapAnnounce with two rules take to check and walk, and to write? One JSON line
//! for each; the median of the rounds, their best and their worst. Nothing in the measured part allocates.

use std::hint::black_box;
use std::time::Instant;

use framegate_codecs::merge::{MergeRuleType, SequenceMergeMapAnnounce, SequenceMergeMapAnnounceRule};

const ROUNDS: usize = 31;
const CALLS: u32 = 200_000;

fn main() {
    let map = two_rules();
    let bytes = map.encode().expect("a valid map");
    report("decode", || walk(black_box(&bytes)));
    let mut buffer = [0; 64];
    report("encode", || black_box(&map).encode_into(black_box(&mut buffer)).expect("room") as u64);
    assert_eq!(buffer[..bytes.len()], bytes[..]);
    report("floor_copy", || {
        let copy: [u8; 58] = black_box(&bytes[..]).try_into().expect("58 bytes");
        u64::from(black_box(&copy)[20])
    });
}

/// The flyweight path of a reader: everything checked, every field of every rule looked at.
#[inline]
fn walk(bytes: &[u8]) -> u64 {
    let map = SequenceMergeMapAnnounce::checked(bytes).expect("a valid map");
    let mut sum = u64::from(map.out_stream_id()) ^ map.epoch() ^ map.stale_timeout_ns().unwrap_or_default();
    let mut rules = map.rules_decoder();
    while let Ok(Some(_)) = rules.advance() {
        sum ^= u64::from(rules.input_stream_id()) ^ u64::from(u8::from(rules.rule_type()));
        sum ^= rules.offset().unwrap_or_default() as u64;
        sum ^= u64::from(rules.window_size().unwrap_or_default());
    }
    sum
}

fn two_rules() -> SequenceMergeMapAnnounce {
    let rule = |input_stream_id, rule_type, offset, window_size| SequenceMergeMapAnnounceRule {
        input_stream_id,
        rule_type,
        offset,
        window_size,
    };
    SequenceMergeMapAnnounce {
        out_stream_id: 11000,
        epoch: 9,
        stale_timeout_ns: None,
        rules: vec![
            rule(10000, MergeRuleType::Offset, Some(-2), None),
            rule(10001, MergeRuleType::Window, None, Some(5)),
        ],
    }
}

fn report(name: &str, mut call: impl FnMut() -> u64) {
    let mut rounds: Vec<f64> = (0..=ROUNDS).map(|_| round(&mut call)).collect();
    // The first round is the warm-up.
    rounds.remove(0);
    rounds.sort_by(f64::total_cmp);
    let (best, median, worst) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
    println!(
        r#"{{"bench":"merge_map","what":"{name}","unit":"ns","median":{median:.2},"best":{best:.2},"worst":{worst:.2},"rounds":{ROUNDS},"calls":{CALLS}}}"#
    );
}

fn round(call: &mut impl FnMut() -> u64) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(call());
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}
