# SPDX-License-Identifier: Apache-2.0
"""What makes an output ready (PROTOCOL 11.2 to 11.7): the executable specification and the native core, one suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

import pytest
from framegate.joinbarrier import (
    LatestValueJoinBarrier,
    MergeMap,
    Reason,
    SequenceJoinBarrier,
    SequenceRule,
    TimestampJoinBarrier,
    TimestampRule,
)
from framegate.joinbarrier.barriers.barriers import Implementation, JoinBarrier
from framegate.schema.errors import ClockDomainRefused, InvalidValue, MapRefused, OutputTimeDecreased
from framegate.schema.merge import (
    ClockDomain,
    MergeRuleType,
    MergeTimeRuleType,
    SequenceMergeMapAnnounce,
    TimestampMergeMapAnnounce,
    TimestampSource,
)

OUT: Final = 20_001
A: Final = 10_001
B: Final = 10_002
C: Final = 10_003
U64: Final = 2**64 - 1
MONOTONIC: Final = ClockDomain.MONOTONIC
DESCRIPTOR: Final = TimestampSource.FRAME_DESCRIPTOR


@pytest.fixture(params=["reference", "native"])
def impl(request: pytest.FixtureRequest) -> Implementation:
    found: Implementation = request.param
    return found


def by_seq(*rules: SequenceRule, stale_timeout_ns: int | None = None, epoch: int = 0) -> MergeMap:
    return MergeMap(OUT, epoch, rules, stale_timeout_ns=stale_timeout_ns)


def by_time(*rules: TimestampRule, lateness_ns: int = 0, stale_timeout_ns: int | None = None) -> MergeMap:
    return MergeMap(OUT, 0, rules, stale_timeout_ns=stale_timeout_ns, clock_domain=MONOTONIC, lateness_ns=lateness_ns)


def sequence(impl: Implementation, *rules: SequenceRule, **options: Any) -> SequenceJoinBarrier:
    barrier = SequenceJoinBarrier(OUT, needs_processed=options.pop("needs_processed", ()), impl=impl)
    assert barrier.apply(by_seq(*rules, **options))
    return barrier


def timestamp(impl: Implementation, *rules: TimestampRule, **options: Any) -> TimestampJoinBarrier:
    barrier = TimestampJoinBarrier(OUT, needs_processed=options.pop("needs_processed", ()), impl=impl)
    assert barrier.apply(by_time(*rules, **options))
    return barrier


def latest(
    impl: Implementation, *streams: int, order_by: Literal["seq", "timestamp"] = "seq", **options: Any
) -> LatestValueJoinBarrier:
    barrier = LatestValueJoinBarrier(OUT, order_by=order_by, impl=impl)
    if order_by == "seq":
        assert barrier.apply(by_seq(*[SequenceRule(stream, offset=0) for stream in streams], **options))
    else:
        assert barrier.apply(by_time(*[TimestampRule(stream, offset_ns=0) for stream in streams], **options))
    return barrier


def ready_for(barrier: JoinBarrier, outs: Sequence[int], now_ns: int = 0) -> list[int]:
    return [out for out in outs if barrier.ready(out, now_ns)]


def why(barrier: JoinBarrier, out: int, now_ns: int = 0) -> tuple[Reason | None, set[int], set[int]]:
    found = barrier.ready(out, now_ns)
    assert found.ok is (found.reason is None) is bool(found)
    return found.reason, set(found.waiting), set(found.absent)


# --- The map's life -------------------------------------------------------------------------------------


def test_without_a_map_nothing_is_ready_and_nothing_is_taken(impl: Implementation) -> None:
    barrier = SequenceJoinBarrier(OUT, impl=impl)
    assert not barrier.observe(A, 5, now_ns=0)
    assert why(barrier, 0) == (Reason.NO_MAP, set(), set())
    assert barrier.counters() == {"unknown_streams": 1, "older_epochs": 0}


def test_a_matching_map_lets_outputs_be_evaluated(impl: Implementation) -> None:
    barrier = SequenceJoinBarrier(OUT, impl=impl)
    assert barrier.apply(by_seq(SequenceRule(A, offset=0)))
    barrier.observe(A, 3, now_ns=0)
    assert ready_for(barrier, range(6)) == [0, 1, 2, 3]


@pytest.mark.parametrize("other", [{"out_stream": OUT + 1}, {"epoch": 1}], ids=repr)
def test_a_map_for_another_pair_does_not_touch_the_barrier(impl: Implementation, other: dict[str, int]) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    assert not barrier.apply(replace(by_seq(SequenceRule(B, offset=0)), **other))  # type: ignore[arg-type]
    assert ready_for(barrier, range(6)) == [0, 1, 2, 3]


def test_an_invalid_map_for_another_pair_does_not_block_either(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    assert not barrier.apply(SequenceMergeMapAnnounce(out_stream_id=OUT + 1, epoch=0, rules=()))
    assert barrier.ready(3, now_ns=0)


def test_a_map_of_the_other_kind_is_ignored(impl: Implementation) -> None:
    by_sequence, by_times = sequence(impl, SequenceRule(A, offset=0)), timestamp(impl, TimestampRule(A, offset_ns=0))
    by_sequence.observe(A, 3, now_ns=0)
    by_times.observe(A, 0, 3, now_ns=0)
    assert not by_sequence.apply(by_time(TimestampRule(B, offset_ns=0)))
    assert not by_times.apply(by_seq(SequenceRule(B, offset=0)))
    assert by_sequence.ready(3, now_ns=0)
    assert by_times.ready(3, now_ns=0)


def test_an_identical_announce_changes_nothing(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, window=3))
    barrier.observe(A, 9, now_ns=0)
    barrier.observe(B, 9, now_ns=0)
    assert barrier.apply(by_seq(SequenceRule(A, offset=0), SequenceRule(B, window=3)).to_message())
    assert ready_for(barrier, range(12)) == list(range(2, 10))


def test_a_changed_map_takes_effect_at_once_and_keeps_inputs_that_stay(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0))
    barrier.observe(A, 9, now_ns=0)
    barrier.observe(B, 9, now_ns=0)
    assert barrier.apply(by_seq(SequenceRule(C, offset=0), SequenceRule(B, offset=1), SequenceRule(A, offset=2)))
    assert why(barrier, 7) == (Reason.NOT_OBSERVED, {C}, set())
    barrier.observe(C, 20, now_ns=0)
    assert ready_for(barrier, range(12)) == list(range(8))


def test_an_input_that_left_and_came_back_starts_unobserved(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0))
    barrier.observe(A, 9, now_ns=0)
    barrier.observe(B, 9, now_ns=0)
    barrier.apply(by_seq(SequenceRule(A, offset=0)))
    barrier.apply(by_seq(SequenceRule(A, offset=0), SequenceRule(B, offset=0)))
    assert why(barrier, 1) == (Reason.NOT_OBSERVED, {B}, set())


def test_a_change_that_is_announced_blocks_until_it_is_applied_and_observing_goes_on(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    barrier.invalidate()
    assert why(barrier, 3) == (Reason.NO_MAP, set(), set())
    assert not barrier.has_map
    assert barrier.observe(A, 4, now_ns=0)
    assert barrier.apply(by_seq(SequenceRule(A, offset=0)))
    assert ready_for(barrier, range(6)) == [0, 1, 2, 3, 4]


def test_a_new_output_epoch_blocks_until_a_fresh_map_is_applied(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    assert barrier.new_epoch(1)
    assert why(barrier, 3) == (Reason.NO_MAP, set(), set())
    assert not barrier.apply(by_seq(SequenceRule(A, offset=0)))
    assert not barrier.ready(3, now_ns=0)
    assert barrier.apply(by_seq(SequenceRule(A, offset=0), epoch=1))
    assert barrier.ready(3, now_ns=0)
    assert not barrier.new_epoch(1)
    assert not barrier.new_epoch(0)
    assert (barrier.epoch, barrier.has_map) == (1, True)


OFFSET = MergeRuleType.OFFSET
WINDOW = MergeRuleType.WINDOW
OFFSET_NS = MergeTimeRuleType.OFFSET_NS
WINDOW_NS = MergeTimeRuleType.WINDOW_NS


@pytest.mark.parametrize(
    ("kind", "offset", "window", "reason"),
    [
        (2, 0, None, "unknown_rule_type"),
        (OFFSET, None, None, "parameter_missing"),
        (OFFSET, 0, 5, "parameter_extra"),
        (OFFSET, 2**31, None, "out_of_range"),
        (OFFSET, -(2**31), None, "out_of_range"),
        (OFFSET, 2**80, None, "out_of_range"),
        (WINDOW, None, None, "parameter_missing"),
        (WINDOW, 0, 5, "parameter_extra"),
        (WINDOW, None, 0, "window_zero"),
        (WINDOW, None, 2**32 - 1, "out_of_range"),
    ],
)
def test_a_bad_sequence_rule_blocks_until_a_valid_map_comes(
    impl: Implementation, kind: Any, offset: int | None, window: int | None, reason: str
) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    good = SequenceMergeMapAnnounce.Rule(input_stream_id=A, rule_type=OFFSET, offset=0)
    bad = SequenceMergeMapAnnounce.Rule(input_stream_id=B, rule_type=kind, offset=offset, window_size=window)
    with pytest.raises(MapRefused) as caught:
        barrier.apply(SequenceMergeMapAnnounce(out_stream_id=OUT, epoch=0, rules=(good, bad)))
    facts = {name: caught.value.facts[name] for name in ("out_stream", "epoch", "rule", "stream", "reason")}
    assert facts == {"out_stream": OUT, "epoch": 0, "rule": 1, "stream": B, "reason": reason}
    assert why(barrier, 3) == (Reason.NO_MAP, set(), set())
    # The map before is as good as any: it was refused together with its successor, and is applied anew.
    assert barrier.apply(by_seq(SequenceRule(A, offset=0)))
    assert barrier.ready(3, now_ns=0)


@pytest.mark.parametrize(
    ("kind", "source", "offset_ns", "window_ns", "reason"),
    [
        (2, 2, 0, None, "unknown_rule_type"),
        (OFFSET_NS, 0, 0, None, "unknown_timestamp_source"),
        (OFFSET_NS, 3, 0, None, "unknown_timestamp_source"),
        (OFFSET_NS, 2, None, None, "parameter_missing"),
        (OFFSET_NS, 2, 0, 5, "parameter_extra"),
        (OFFSET_NS, 1, -(2**63), None, "out_of_range"),
        (WINDOW_NS, 1, None, None, "parameter_missing"),
        (WINDOW_NS, 1, 0, 5, "parameter_extra"),
        (WINDOW_NS, 2, None, 0, "window_zero"),
        (WINDOW_NS, 2, None, U64, "out_of_range"),
    ],
)
def test_a_bad_timestamp_rule_blocks_until_a_valid_map_comes(
    impl: Implementation, kind: Any, source: Any, offset_ns: int | None, window_ns: int | None, reason: str
) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    barrier.observe(A, 0, 1000, now_ns=0)
    bad = TimestampMergeMapAnnounce.Rule(
        input_stream_id=B, rule_type=kind, timestamp_source=source, offset_ns=offset_ns, window_ns=window_ns
    )
    with pytest.raises(MapRefused) as caught:
        barrier.apply(TimestampMergeMapAnnounce(out_stream_id=OUT, epoch=0, clock_domain=MONOTONIC, rules=(bad,)))
    assert (caught.value.facts["rule"], caught.value.facts["stream"], caught.value.facts["reason"]) == (0, B, reason)
    assert why(barrier, 5) == (Reason.NO_MAP, set(), set())
    assert barrier.apply(by_time(TimestampRule(A, offset_ns=0)))
    assert barrier.ready(5, now_ns=0)


@pytest.mark.parametrize("domain", [0, 3])
def test_an_unknown_clock_domain_and_an_empty_map_are_refused(impl: Implementation, domain: Any) -> None:
    rule = TimestampMergeMapAnnounce.Rule(
        input_stream_id=A, rule_type=OFFSET_NS, timestamp_source=DESCRIPTOR, offset_ns=0
    )
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    for rules, reason in (((rule,), "unknown_clock_domain"), ((), "no_rules")):
        with pytest.raises(MapRefused) as caught:
            barrier.apply(TimestampMergeMapAnnounce(out_stream_id=OUT, epoch=0, clock_domain=domain, rules=rules))
        assert caught.value.facts["reason"] == reason
        assert not barrier.has_map


def test_a_barrier_follows_256_inputs_and_refuses_a_map_with_more(impl: Implementation) -> None:
    rules = [SequenceRule(stream, offset=0) for stream in range(256)]
    barrier = sequence(impl, *rules)
    for stream in range(255):
        barrier.observe(stream, 7, now_ns=0)
    assert why(barrier, 7) == (Reason.NOT_OBSERVED, {255}, set())
    barrier.observe(255, 7, now_ns=0)
    assert barrier.ready(7, now_ns=0)
    with pytest.raises(MapRefused) as caught:
        barrier.apply(by_seq(*rules, SequenceRule(256, offset=0)))
    assert caught.value.facts["reason"] == "too_many_inputs"
    assert not barrier.has_map


# --- By sequence ----------------------------------------------------------------------------------------


def test_offsets_of_two_inputs_bound_the_outputs_on_both_sides(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=-2))
    barrier.observe(A, 10, now_ns=0)
    barrier.observe(B, 8, now_ns=0)
    assert ready_for(barrier, range(20)) == list(range(2, 11))
    assert why(barrier, 1) == (Reason.BEFORE_START, {B}, set())
    assert why(barrier, 11) == (Reason.BEHIND, {A, B}, set())


def test_the_table_of_the_protocol(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=-4))
    barrier.observe(A, 20, now_ns=0)
    barrier.observe(B, 15, now_ns=0)
    assert ready_for(barrier, range(30)) == list(range(4, 20))
    barrier = sequence(impl, SequenceRule(A, window=3))
    barrier.observe(A, 20, now_ns=0)
    assert ready_for(barrier, range(30)) == list(range(2, 21))


def test_a_window_waits_until_it_is_full_and_asks_for_its_upper_end_alone(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, window=5))
    barrier.observe(A, 4, now_ns=0)
    assert why(barrier, 3) == (Reason.BEFORE_START, {A}, set())
    # Of [0, 4] only 4 was ever seen.
    assert ready_for(barrier, range(8)) == [4]


def test_a_positive_offset_asks_for_what_lies_ahead(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=3))
    barrier.observe(A, 5, now_ns=0)
    assert ready_for(barrier, range(6)) == [0, 1, 2]


def test_an_input_never_observed_is_not_ready_even_where_0_is_asked(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    assert why(barrier, 0) == (Reason.NOT_OBSERVED, {A}, set())


def test_several_rules_on_one_input_must_all_hold(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=-1), SequenceRule(A, offset=2), SequenceRule(A, window=4))
    barrier.observe(A, 9, now_ns=0)
    assert ready_for(barrier, range(12)) == [3, 4, 5, 6, 7]


def test_the_highest_sequence_counts_and_outputs_may_be_asked_in_any_order(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    for seq in (5, 2, 4):
        barrier.observe(A, seq, now_ns=0)
    barrier.emitted(5)
    assert ready_for(barrier, [5, 0, 6, 3]) == [5, 0, 3]


def test_the_processed_cursor_matters_where_it_is_configured_and_only_there(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0), needs_processed={A})
    barrier.observe(A, 9, now_ns=0)
    barrier.observe(B, 9, now_ns=0)
    assert why(barrier, 0) == (Reason.BEHIND, {A}, set())
    barrier.processed(A, 4)
    barrier.processed(A, 2)
    assert ready_for(barrier, range(12)) == [0, 1, 2, 3, 4]
    barrier.processed(A, 11)
    assert ready_for(barrier, range(12)) == list(range(10))


@pytest.mark.parametrize(
    ("rule", "observed", "out", "reason"),
    [
        (SequenceRule(A, offset=0), U64, U64, None),
        (SequenceRule(A, offset=1), U64, U64, Reason.BEHIND),
        (SequenceRule(A, offset=2**31 - 1), U64, U64 - 2**31 + 2, Reason.BEHIND),
        (SequenceRule(A, offset=2**31 - 1), U64, U64 - 2**31 + 1, None),
        (SequenceRule(A, offset=-(2**31) + 1), 0, 2**31 - 1, None),
        (SequenceRule(A, offset=-(2**31) + 1), U64, 2**31 - 2, Reason.BEFORE_START),
        (SequenceRule(A, window=2**32 - 2), U64, 2**32 - 4, Reason.BEFORE_START),
        (SequenceRule(A, window=2**32 - 2), U64, 2**32 - 3, None),
        (SequenceRule(A, window=1), U64, U64, None),
        (SequenceRule(A, window=1), 0, 0, None),
    ],
    ids=repr,
)
def test_nothing_wraps_at_the_limits_of_sequences(
    impl: Implementation, rule: SequenceRule, observed: int, out: int, reason: Reason | None
) -> None:
    barrier = sequence(impl, rule)
    barrier.observe(A, observed, now_ns=0)
    assert barrier.ready(out, now_ns=0).reason is reason


# --- Epochs of inputs -----------------------------------------------------------------------------------


def test_a_higher_epoch_of_an_input_forgets_its_cursors_and_a_lower_one_is_ignored(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), needs_processed=[A])
    barrier.observe(A, 9, now_ns=0, epoch=5)
    barrier.processed(A, 9)
    assert barrier.ready(9, now_ns=0)
    assert not barrier.observe(A, 50, now_ns=0, epoch=4)
    assert barrier.counters()["older_epochs"] == 1
    assert barrier.observe(A, 2, now_ns=0, epoch=6)
    assert not barrier.ready(2, now_ns=0)
    assert not barrier.processed(A, 9, epoch=5)
    assert barrier.processed(A, 2, epoch=6)
    assert ready_for(barrier, range(12)) == [0, 1, 2]


def test_an_epoch_without_a_frame_yet_leaves_its_input_unobserved(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), stale_timeout_ns=10)
    barrier.observe(A, 9, now_ns=0, epoch=5)
    assert not barrier.input_epoch(A, 5)
    assert barrier.ready(9, now_ns=0)
    assert barrier.input_epoch(A, 6)
    assert why(barrier, 9, now_ns=99) == (Reason.NOT_OBSERVED, {A}, set())
    assert not barrier.input_epoch(B, 7)
    assert barrier.observe(A, 0, now_ns=0)
    assert barrier.ready(0, now_ns=0)


# --- By timestamp ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "lateness_ns", "out", "least_ns"),
    [
        (TimestampRule(A, offset_ns=-200), 0, 1000, 800),
        (TimestampRule(A, offset_ns=200), 0, 1000, 1200),
        (TimestampRule(A, offset_ns=-200), 0, 100, None),
        (TimestampRule(A, offset_ns=-200), 500, 100, None),
        (TimestampRule(A, offset_ns=-200), 500, 200, 0),
        (TimestampRule(A, window_ns=300), 100, 1000, 900),
        (TimestampRule(A, window_ns=300), 0, 1000, 1000),
        (TimestampRule(A, window_ns=300), 100, 200, None),
        (TimestampRule(A, window_ns=300), 0, 300, 300),
        (TimestampRule(A, offset_ns=-500), 0, 5000, 4500),
        (TimestampRule(A, offset_ns=-500), 0, 400, None),
        (TimestampRule(A, window_ns=800), 300, 5000, 4700),
        (TimestampRule(A, window_ns=800), 300, 700, None),
        (TimestampRule(A, offset_ns=0), U64 - 1, U64, 1),
        (TimestampRule(A, offset_ns=2**63 - 1), 2**63 - 1, U64 - 1, U64 - 1),
        (TimestampRule(A, offset_ns=-(2**63) + 1), 0, 2**63 - 1, 0),
    ],
    ids=repr,
)
def test_a_timestamp_rule_asks_for_just_this_time(
    impl: Implementation, rule: TimestampRule, lateness_ns: int, out: int, least_ns: int | None
) -> None:
    def outcome(observed_ns: int) -> Reason | None:
        barrier = timestamp(impl, rule, lateness_ns=lateness_ns)
        barrier.observe(A, 0, observed_ns, now_ns=0)
        return barrier.ready(out, now_ns=0).reason

    if least_ns is None:
        assert outcome(U64 - 1) is Reason.BEFORE_START
        return
    assert outcome(least_ns) is None
    if least_ns:
        assert outcome(least_ns - 1) is Reason.BEHIND


def test_a_required_time_beyond_the_last_is_never_reached(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=2**63 - 1))
    barrier.observe(A, 0, U64 - 1, now_ns=0)
    assert why(barrier, U64) == (Reason.BEHIND, {A}, set())


def test_lateness_is_the_maps_and_changes_with_it(impl: Implementation) -> None:
    rules = TimestampRule(A, offset_ns=0), TimestampRule(B, window_ns=10)
    barrier = timestamp(impl, *rules, lateness_ns=100)
    for stream in (A, B):
        barrier.observe(stream, 0, 900, now_ns=0)
    assert barrier.ready(1000, now_ns=0)
    barrier.apply(by_time(*rules, lateness_ns=99))
    assert why(barrier, 1000) == (Reason.BEHIND, {A, B}, set())


def test_a_null_timestamp_leaves_the_rule_not_ready(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    assert barrier.observe(A, 0, None, now_ns=0)
    assert barrier.observe(A, 1, U64, now_ns=0)
    assert why(barrier, 0) == (Reason.NOT_OBSERVED, {A}, set())
    barrier.observe(A, 2, 7, now_ns=0)
    barrier.observe(A, 3, None, now_ns=0)
    assert ready_for(barrier, range(10)) == list(range(8))


def test_each_rule_reads_its_own_field_and_no_other(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0, source=DESCRIPTOR), TimestampRule(B, offset_ns=0))
    barrier.observe(A, 0, 900, now_ns=0, descriptor_timestamp_ns=5)
    barrier.observe(B, 0, 5, now_ns=0, descriptor_timestamp_ns=900)
    assert ready_for(barrier, range(10)) == [0, 1, 2, 3, 4, 5]
    # The fields that no rule reads go back: that rejects nothing.
    barrier.observe(A, 1, 1, now_ns=0, descriptor_timestamp_ns=8)
    barrier.observe(B, 1, 8, now_ns=0, descriptor_timestamp_ns=1)
    assert ready_for(barrier, range(10)) == list(range(9))


def test_two_rules_on_one_input_may_read_different_fields(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0), TimestampRule(A, offset_ns=0, source=DESCRIPTOR))
    barrier.observe(A, 0, 9, now_ns=0, descriptor_timestamp_ns=4)
    assert ready_for(barrier, range(12)) == [0, 1, 2, 3, 4]
    barrier.observe(A, 1, 10, now_ns=0, descriptor_timestamp_ns=3)
    assert why(barrier, 0) == (Reason.REJECTED, {A}, set())


def test_decreasing_timestamps_reject_the_input_until_its_next_epoch(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0), TimestampRule(B, offset_ns=0))
    barrier.observe(B, 0, 900, now_ns=0)
    for time in (10, 10, 9, 20):
        barrier.observe(A, 0, time, now_ns=0, epoch=1)
    assert why(barrier, 5) == (Reason.REJECTED, {A}, set())
    barrier.apply(by_time(TimestampRule(A, offset_ns=1), TimestampRule(B, offset_ns=0)))
    assert why(barrier, 5) == (Reason.REJECTED, {A}, set())
    barrier.observe(A, 0, 3, now_ns=0, epoch=2)
    assert ready_for(barrier, range(10)) == [0, 1, 2]


def test_equal_timestamps_are_no_decrease(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    for seq in range(3):
        barrier.observe(A, seq, 10, now_ns=0)
    assert barrier.ready(10, now_ns=0)


def test_the_processed_time_fulfils_the_same_with_the_same_lateness(impl: Implementation) -> None:
    barrier = timestamp(
        impl, TimestampRule(A, offset_ns=0, source=DESCRIPTOR), lateness_ns=100, needs_processed=frozenset({A})
    )
    barrier.observe(A, 0, None, now_ns=0, descriptor_timestamp_ns=1000)
    assert why(barrier, 1000) == (Reason.BEHIND, {A}, set())
    barrier.processed(A, timestamp_ns=5000)
    barrier.processed(A, descriptor_timestamp_ns=899)
    assert not barrier.ready(1000, now_ns=0)
    barrier.processed(A, descriptor_timestamp_ns=900)
    barrier.processed(A, descriptor_timestamp_ns=1)
    assert barrier.ready(1000, now_ns=0)
    assert not barrier.ready(1001, now_ns=0)


def test_a_processed_time_does_not_move_by_observing_or_asking(impl: Implementation) -> None:
    """J-059: it advances when the stage says that it consumed the frame, however often the frame was used."""
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0), needs_processed=[A])
    barrier.observe(A, 0, 1000, now_ns=0)
    for out in (10, 20, 1000):
        assert not barrier.ready(out, now_ns=0)
    barrier.processed(A, seq=0)
    assert not barrier.ready(10, now_ns=0)
    barrier.processed(A, timestamp_ns=15)
    assert ready_for(barrier, [10, 15, 20]) == [10, 15]


def test_an_output_earlier_than_the_last_emitted_is_refused_and_the_next_may_be_ready(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    barrier.observe(A, 0, 1000, now_ns=0)
    assert ready_for(barrier, [500, 300]) == [500, 300]
    barrier.emitted(500)
    assert why(barrier, 499) == (Reason.OUT_OF_ORDER, set(), set())
    assert ready_for(barrier, [500, 501]) == [500, 501]
    with pytest.raises(OutputTimeDecreased):
        barrier.emitted(499)
    barrier.apply(by_time(TimestampRule(A, offset_ns=-1)))
    assert not barrier.ready(499, now_ns=0)


def test_output_times_start_again_with_the_outputs_epoch(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    barrier.observe(A, 0, 1000, now_ns=0)
    barrier.emitted(500)
    barrier.new_epoch(1)
    barrier.apply(replace(by_time(TimestampRule(A, offset_ns=0)), epoch=1))
    assert barrier.ready(3, now_ns=0)


@pytest.mark.parametrize("call", ["observe", "processed"])
def test_a_time_of_another_domain_rejects_the_join_until_a_fresh_map(impl: Implementation, call: str) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    assert barrier.observe(A, 0, 1000, now_ns=0, clock_domain=MONOTONIC)
    other = ClockDomain.REALTIME_SYNCED
    foreign = {
        "observe": lambda: barrier.observe(A, 1, 2000, now_ns=0, clock_domain=other),
        "processed": lambda: barrier.processed(A, 1, 2000, clock_domain=other),
    }
    with pytest.raises(ClockDomainRefused) as caught:
        foreign[call]()
    assert caught.value.facts == {"stream": A, "want": "MONOTONIC", "have": "REALTIME_SYNCED"}
    assert why(barrier, 5) == (Reason.DOMAIN, set(), set())
    assert barrier.apply(by_time(TimestampRule(A, offset_ns=0)))
    assert not barrier.ready(5, now_ns=0)
    barrier.apply(by_time(TimestampRule(A, offset_ns=-1)))
    assert barrier.ready(5, now_ns=0)
    assert not barrier.ready(1500, now_ns=0)


def test_an_output_time_of_another_domain_is_refused_and_the_next_may_be_ready(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0))
    barrier.observe(A, 0, 1000, now_ns=0)
    refused = barrier.ready(5, 0, clock_domain=ClockDomain.REALTIME_SYNCED)
    assert (refused.reason, refused.waiting) == (Reason.DOMAIN, frozenset())
    assert barrier.ready(5, 0, clock_domain=MONOTONIC)


def test_sequences_have_no_clock_domain(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0, clock_domain=ClockDomain.REALTIME_SYNCED)
    assert barrier.ready(3, 0, clock_domain=MONOTONIC)


# --- Staleness ------------------------------------------------------------------------------------------


def test_a_silent_input_is_absent_after_the_time_out_and_not_at_it(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0), stale_timeout_ns=100)
    barrier.observe(B, 3, now_ns=1000)
    barrier.observe(A, 9, now_ns=1090)
    assert why(barrier, 9, now_ns=1100) == (Reason.BEHIND, {B}, set())
    assert why(barrier, 9, now_ns=1101) == (None, set(), {B})


def test_a_stale_input_that_fulfils_its_rule_is_present(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), stale_timeout_ns=100)
    barrier.observe(A, 9, now_ns=0)
    assert why(barrier, 9, now_ns=5000) == (None, set(), set())


def test_inputs_that_are_not_stale_must_be_ready(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0), stale_timeout_ns=100)
    barrier.observe(A, 3, now_ns=0)
    barrier.observe(B, 3, now_ns=4950)
    assert why(barrier, 9, now_ns=5000) == (Reason.BEHIND, {B}, {A})


def test_an_input_never_observed_is_not_stale(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), SequenceRule(B, offset=0), stale_timeout_ns=100)
    barrier.observe(A, 9, now_ns=5000)
    assert why(barrier, 9, now_ns=5000) == (Reason.NOT_OBSERVED, {B}, set())


def test_without_a_time_out_missing_inputs_block_for_ever(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0))
    barrier.observe(A, 3, now_ns=0)
    assert why(barrier, 9, now_ns=U64) == (Reason.BEHIND, {A}, set())


def test_an_observation_ends_staleness_also_without_a_timestamp(impl: Implementation) -> None:
    barrier = timestamp(impl, TimestampRule(A, offset_ns=0), stale_timeout_ns=100)
    barrier.observe(A, 0, 5, now_ns=0)
    assert why(barrier, 9, now_ns=101) == (None, set(), {A})
    barrier.observe(A, 1, None, now_ns=101)
    assert why(barrier, 9, now_ns=201) == (Reason.BEHIND, {A}, set())


def test_time_that_goes_back_makes_nothing_stale(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=0), stale_timeout_ns=0)
    barrier.observe(A, 3, now_ns=1000)
    barrier.observe(A, 3, now_ns=10)
    assert why(barrier, 9, now_ns=1000) == (Reason.BEHIND, {A}, set())
    assert why(barrier, 9, now_ns=5) == (Reason.BEHIND, {A}, set())
    assert why(barrier, 9, now_ns=1001) == (None, set(), {A})


def test_staleness_does_not_move_the_start_of_a_rule(impl: Implementation) -> None:
    barrier = sequence(impl, SequenceRule(A, offset=-5), stale_timeout_ns=0)
    barrier.observe(A, 3, now_ns=0)
    assert why(barrier, 4, now_ns=99) == (Reason.BEFORE_START, {A}, set())


# --- The latest value -----------------------------------------------------------------------------------


def test_latest_is_ready_once_every_input_showed_a_frame_whatever_the_rules_ask(impl: Implementation) -> None:
    barrier = LatestValueJoinBarrier(OUT, impl=impl)
    assert barrier.apply(by_seq(SequenceRule(A, offset=-50), SequenceRule(B, window=9), SequenceRule(B, offset=7)))
    barrier.observe(A, 1000, now_ns=0)
    assert why(barrier, 0) == (Reason.NOT_OBSERVED, {B}, set())
    barrier.observe(B, 0, now_ns=0)
    assert barrier.ready(0, now_ns=0)
    assert (barrier.selected(A), barrier.selected(B), barrier.selected(C)) == (1000, 0, None)


def test_by_sequence_latest_takes_either_kind_of_map_and_by_timestamp_only_its_own(impl: Implementation) -> None:
    assert LatestValueJoinBarrier(OUT, impl=impl).apply(by_time(TimestampRule(A, offset_ns=0)))
    by_times = LatestValueJoinBarrier(OUT, order_by="timestamp", impl=impl)
    assert not by_times.apply(by_seq(SequenceRule(A, offset=0)))
    assert why(by_times, 0) == (Reason.NO_MAP, set(), set())
    assert by_times.apply(by_time(TimestampRule(A, offset_ns=0)))


def test_the_highest_sequence_is_selected_and_a_late_one_is_not(impl: Implementation) -> None:
    barrier = latest(impl, A)
    for seq, time in ((4, 1), (9, 0), (7, 50)):
        barrier.observe(A, seq, time, now_ns=0)
    assert barrier.selected(A) == 9


def test_by_timestamp_the_newest_time_is_selected_and_decreasing_rejects_nothing(impl: Implementation) -> None:
    barrier = latest(impl, A, order_by="timestamp")
    barrier.observe(A, 0, None, now_ns=0)
    assert why(barrier, 0) == (Reason.NOT_OBSERVED, {A}, set())
    for seq, time in ((4, 10), (5, 30), (9, 20), (2, 30), (6, None)):
        barrier.observe(A, seq, time, now_ns=0)
    assert barrier.selected(A) == 5
    barrier.observe(A, 7, 30, now_ns=0)
    assert barrier.selected(A) == 7


def test_by_timestamp_an_input_has_one_source_and_times_of_another_domain_are_refused(impl: Implementation) -> None:
    barrier = latest(impl, A, order_by="timestamp")
    with pytest.raises(ClockDomainRefused):
        barrier.observe(A, 0, 5, now_ns=0, clock_domain=ClockDomain.REALTIME_SYNCED)
    assert why(barrier, 0) == (Reason.DOMAIN, set(), set())
    two = by_time(TimestampRule(B, offset_ns=0), TimestampRule(B, offset_ns=0, source=DESCRIPTOR))
    with pytest.raises(MapRefused) as caught:
        barrier.apply(two)
    assert (caught.value.facts["rule"], caught.value.facts["reason"]) == (1, "two_sources")
    assert not barrier.has_map


def test_by_timestamp_a_changed_source_starts_the_input_anew(impl: Implementation) -> None:
    barrier = latest(impl, A, B, order_by="timestamp")
    for stream in (A, B):
        barrier.observe(stream, 3, 900, now_ns=0, descriptor_timestamp_ns=5)
    barrier.apply(by_time(TimestampRule(A, offset_ns=0, source=DESCRIPTOR), TimestampRule(B, offset_ns=0)))
    assert (barrier.selected(A), barrier.selected(B)) == (None, 3)
    barrier.observe(A, 4, 100, now_ns=0, descriptor_timestamp_ns=6)
    assert barrier.selected(A) == 4


def test_a_frame_that_failed_makes_its_input_absent_until_a_newer_one_comes(impl: Implementation) -> None:
    barrier = latest(impl, A, B)
    barrier.observe(A, 4, now_ns=0)
    barrier.observe(B, 4, now_ns=0)
    assert not barrier.invalid(A, 3)
    assert barrier.ready(0, now_ns=0)
    assert barrier.invalid(A, 4)
    assert barrier.selected(A) is None
    assert why(barrier, 0) == (Reason.INVALID, {A}, set())
    for old in (2, 4):
        barrier.observe(A, old, now_ns=0)
        assert not barrier.ready(0, now_ns=0)
    barrier.observe(A, 5, now_ns=0)
    assert barrier.ready(1, now_ns=0)
    assert barrier.selected(A) == 5


def test_frames_of_an_earlier_epoch_are_never_selected(impl: Implementation) -> None:
    barrier = latest(impl, A)
    barrier.observe(A, 900, now_ns=0, epoch=1)
    barrier.input_epoch(A, 2)
    assert (barrier.selected(A), barrier.ready(0, now_ns=0).reason) == (None, Reason.NOT_OBSERVED)
    barrier.observe(A, 950, now_ns=0, epoch=1)
    assert barrier.selected(A) is None
    barrier.observe(A, 3, now_ns=0, epoch=2)
    assert barrier.selected(A) == 3


def test_a_stale_value_is_absent_and_the_others_go_on(impl: Implementation) -> None:
    barrier = latest(impl, A, B, stale_timeout_ns=100)
    barrier.observe(B, 1, now_ns=0)
    barrier.observe(A, 1, now_ns=100)
    assert why(barrier, 0, now_ns=100) == (None, set(), set())
    assert why(barrier, 0, now_ns=101) == (None, set(), {B})
    barrier.invalid(B, 1)
    assert why(barrier, 0, now_ns=101) == (None, set(), {B})
    assert why(barrier, 0, now_ns=100) == (Reason.INVALID, {B}, set())


# --- All three ------------------------------------------------------------------------------------------


def test_no_barrier_waits_and_asking_changes_nothing(impl: Implementation) -> None:
    """It returns with nothing committed anywhere: there is no slot that it could wait for or protect."""
    asked, silent = sequence(impl, SequenceRule(A, offset=0)), sequence(impl, SequenceRule(A, offset=0))
    for seq in range(5):
        asked.observe(A, seq, now_ns=seq)
        silent.observe(A, seq, now_ns=seq)
        for out in (7, seq, 0):
            asked.ready(out, now_ns=10)
    assert [asked.ready(out, 9) for out in range(9)] == [silent.ready(out, 9) for out in range(9)]
    assert asked.counters() == silent.counters()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda impl: SequenceJoinBarrier(2**32, impl=impl),
        lambda impl: SequenceJoinBarrier(1, epoch=-1, impl=impl),
        lambda impl: SequenceJoinBarrier(1, needs_processed=[-1], impl=impl),
        lambda impl: LatestValueJoinBarrier(1, order_by="age", impl=impl),  # type: ignore[arg-type]
        lambda impl: LatestValueJoinBarrier(1, impl=impl + "s"),
        lambda impl: SequenceJoinBarrier(1, impl=impl).observe(1, 2**64, now_ns=0),
        lambda impl: SequenceJoinBarrier(1, impl=impl).observe(1, "x", now_ns=0),  # type: ignore[arg-type]
        lambda impl: SequenceJoinBarrier(1, impl=impl).ready(-1, now_ns=0),
        lambda impl: SequenceJoinBarrier(1, impl=impl).ready(0, now_ns=-1),
    ],
    ids=range(9),
)
def test_numbers_that_no_field_holds_are_refused_at_once(impl: Implementation, wrong: Any) -> None:
    with pytest.raises(InvalidValue):
        wrong(impl)
