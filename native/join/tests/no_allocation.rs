// SPDX-License-Identifier: Apache-2.0
//! Observing, asking and an identical output take nothing from the heap once a map is applied (J-034).

use std::hint::black_box;

use framegate_join::barrier::{Barrier, Kind, NULL_TIMESTAMP, Observation, Processed};
use framegate_join::map::{Announced, RawRule};

fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

fn apply(barrier: &mut Barrier, times: Option<(u32, Option<u64>)>) {
    let rule = |stream| RawRule { stream, rule_type: 0, source: 1 + stream % 2, offset: Some(0), window: None };
    let rules: Vec<RawRule> = (0..200).map(rule).collect();
    let announced = Announced { out_stream: 9, epoch: 0, stale_timeout_ns: Some(50), times, rules: &rules };
    assert_eq!(barrier.apply(&announced), Ok(true));
}

fn work(barrier: &mut Barrier) {
    for out in 0..20 {
        for stream in 0..200 {
            let index = barrier.index_of(stream).expect("an input");
            // New epochs, nulls and decreasing times are normal too.
            let times = [if out % 7 == 3 { NULL_TIMESTAMP } else { out * 10 }, 1000 - out];
            barrier.observe(index, &Observation { seq: out, epoch: Some(out / 10), times }, out);
            barrier.processed(index, &Processed { seq: Some(out), epoch: None, times });
            let _ = black_box(barrier.attempt(out, out));
        }
        let _ = black_box(barrier.ready(out, out + 100));
        assert_eq!(barrier.index_of(7777), None);
    }
}

#[test]
fn the_witness_sees_an_allocation() {
    assert_eq!(allocations(|| drop(black_box(vec![1u8; 64]))), 1);
}

#[test]
fn no_barrier_allocates_between_two_maps() {
    let mut by_seq = Barrier::new(Kind::Sequence, 9, 0, &[3]);
    apply(&mut by_seq, None);
    assert_eq!(allocations(|| work(&mut by_seq)), 0);

    let mut by_time = Barrier::new(Kind::Timestamp, 9, 0, &[3]);
    apply(&mut by_time, Some((1, Some(5))));
    assert_eq!(allocations(|| work(&mut by_time)), 0);

    for kind in [Kind::LatestBySeq, Kind::LatestByTime] {
        let mut latest = Barrier::new(kind, 9, 0, &[]);
        apply(&mut latest, Some((1, None)));
        let selecting = |latest: &mut Barrier| {
            work(latest);
            for index in 0..200 {
                let seq = latest.selected(index).expect("it was observed");
                assert!(latest.invalid(index, seq));
            }
        };
        assert_eq!(allocations(|| selecting(&mut latest)), 0);
    }
}
