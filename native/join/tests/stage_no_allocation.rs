// SPDX-License-Identifier: Apache-2.0
//! A stage allocates nothing once its map is applied, whatever it is told and asked (J-034).

use std::hint::black_box;

use framegate_join::barrier::NULL_TIMESTAMP;
use framegate_join::map::{Announced, RawRule};
use framegate_join::stage::{Cause, Drive, InputConfig, Observed, Pick, PolicyKind, Preference, Stage, StageConfig};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

fn input(stream: u32, pick: Preference) -> InputConfig {
    InputConfig {
        pick,
        reuse: stream.is_multiple_of(2),
        deadline_ns: u64::from(stream) % 3 * 40,
        optional: stream == 4,
        ..InputConfig::of(stream)
    }
}

fn stage(policy: PolicyKind, drive: Drive) -> Stage {
    let inputs = vec![
        input(1, Preference::Newest),
        input(2, Preference::Newest),
        input(3, Preference::Nearest),
        input(3, Preference::Newest),
        input(4, Preference::Newest),
    ];
    let config = StageConfig {
        policy,
        out_stream: 9,
        inputs,
        drive,
        first: None,
        is_late_stalled: false,
        is_ordered_by_time: false,
        max_skew_ns: 90,
        max_age_ns: 200,
        out_epoch: 0,
        history: 64,
    };
    let mut stage = Stage::new(config);
    apply(&mut stage);
    stage
}

fn apply(stage: &mut Stage) {
    let (Some(epoch), is_by_time) = (stage.wants_map(), stage.needs_slot_time(0)) else { return };
    let rule = |stream, window: Option<u64>| RawRule {
        stream,
        rule_type: u32::from(window.is_some()),
        source: 2,
        offset: window.is_none().then_some(if stream == 2 { -1 } else { 0 }),
        window,
    };
    let rules = [rule(1, None), rule(2, None), rule(3, Some(9)), rule(3, None), rule(4, Some(9))];
    // Skew makes every policy read times, so the kind is tried out.
    for times in [is_by_time.then_some((1, Some(5))), None] {
        let announced = Announced { out_stream: 9, epoch, stale_timeout_ns: Some(500), times, rules: &rules };
        if stage.apply(&announced, 1).expect("the rules are valid") {
            return;
        }
    }
}

/// Feeds frames with gaps, losses and an end, and tries outputs, of which some cannot be read.
fn play(stage: &mut Stage, rounds: std::ops::Range<u64>, state: &mut Vec<u8>) {
    for round in rounds {
        let now_ns = round * 10;
        for stream in 0..4_usize {
            if (round + stream as u64).is_multiple_of(7) {
                continue;
            }
            let time = if round.is_multiple_of(11) { NULL_TIMESTAMP } else { now_ns + stream as u64 };
            let seen =
                Observed { epoch: 1, seq: round, descriptor_timestamp_ns: time, slot_timestamp_ns: time, trace_id: 0 };
            stage.observe(stream, &seen, now_ns);
            if round.is_multiple_of(13) {
                stage.observe_lost(stream, 0, round, Cause::Overwritten, now_ns);
            }
            stage.watermark(stream, (now_ns / 1_000_000) as i64, now_ns);
        }
        stage.push_time(now_ns as i64);
        stage.tick(now_ns, now_ns);
        let mut turn = round;
        while let Some(attempt) = stage.next(now_ns) {
            let is_frame = matches!(attempt.picks()[2], Pick::Frame { .. });
            turn += 1;
            if is_frame && turn.is_multiple_of(5) {
                stage.failed(2, Cause::Overwritten, now_ns);
            } else {
                stage.joined(now_ns);
            }
        }
        stage.drain_unmatched(|entry| black_box(entry).seq < u64::MAX);
        state.clear();
        stage.write_state(state);
    }
}

#[test]
fn whatever_the_policy_nothing_is_taken_from_the_heap() {
    let clock = Drive::Clock { period_ns: 25 };
    for (policy, drive) in [
        (PolicyKind::Sequence, Drive::Counter),
        (PolicyKind::Sequence, Drive::Input(0)),
        (PolicyKind::Timestamp, Drive::Input(0)),
        (PolicyKind::Timestamp, clock),
        (PolicyKind::Timestamp, Drive::External),
        (PolicyKind::Latest, Drive::Counter),
        (PolicyKind::Latest, clock),
        (PolicyKind::Union, Drive::Counter),
    ] {
        let mut stage = stage(policy, drive);
        let mut state = Vec::with_capacity(stage.state_capacity());
        let counted = allocations(|| {
            play(&mut stage, 0..400, &mut state);
            stage.missed(1, 1, 400, 450, 4000);
            stage.ended(0, 1, 4000);
            stage.observe_lost(1, 2, 0, Cause::Overwritten, 4000);
            stage.finish(4000);
        });
        assert_eq!(counted, 0, "{policy:?} {drive:?}");
        assert!(stage.counters().rows > 10, "{policy:?} {drive:?}: the script makes rows");
        assert!(state.len() <= stage.state_capacity());
    }
}

#[test]
fn the_longest_state_fits_its_capacity() {
    let mut stage = stage(PolicyKind::Sequence, Drive::Counter);
    let top = i64::MAX as u64;
    for stream in 0..4 {
        stage.missed(stream, top, top - 1, top, 0);
    }
    let mut state = Vec::new();
    stage.write_state(&mut state);
    assert!(state.len() <= stage.state_capacity());
}
