# SPDX-License-Identifier: Apache-2.0
"""Where framegate reads the source texts otherwise: each rule holds in both implementations, and fails by the letter.

A check is written once. It passes with the specification and with the native pieces, and must fail with the
specification that follows the original reading: a check that cannot tell the two apart proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import pytest
from framegate.joinbarrier.checkpoint import BarrierSignal, CheckpointBarrier, Event, SignalAligner, Watermark
from framegate.schema.errors import FramegateError, OverlappingBarrier
from framegate.spec.checkpoint.command_word import CommandWord, pack

from tests.conformance.checkpoint_world import SECOND, Pieces, barrier, drained, fill, kinds, payloads

Check: TypeAlias = Callable[[Pieces], None]


class _AskedInBetween(CommandWord):
    """A further command comes while the word is being read for the last time before it is emptied."""

    def __init__(self) -> None:
        super().__init__()
        self.loads = 0

    def load(self) -> int:
        found = super().load()
        self.loads += 1
        if self.loads == 2:
            self.store(pack(2, 1, unaligned=False))
        return found

    def take(self) -> int:
        found = super().take()
        self.store(pack(2, 1, unaligned=False))
        return found


def b1_a_command_in_between_is_not_lost(make: Pieces) -> None:
    # The native word has the same test under every interleaving, in native/checkpoint/tests/loom_word.rs.
    injector = make.injector(word=_AskedInBetween() if make.impl == "reference" else None)
    injector.handle().inject(1, 1)
    found = [injector.poll(0)]
    if make.impl == "native":
        injector.handle().inject(2, 1)
    assert [*found, injector.poll(0)] == [barrier(1), barrier(2)]


def b2_ids_and_epochs_never_go_back(make: Pieces) -> None:
    injector = make.injector(1)
    injector.handle().inject(5, 9)
    found = [injector.poll(now * SECOND) for now in range(2)]
    injector.handle().inject(7, 3)
    found.append(injector.poll(2 * SECOND))
    assert found == [barrier(5, 9), barrier(6, 10), barrier(7, 10)]


def b3_nothing_is_cut_short(make: Pieces) -> None:
    triggers = make.injector()._triggers if make.letter else make.injector().handle()
    for wrong in ((0, 1), (1, 1 << 48)):
        try:
            triggers.inject(*wrong)
        except FramegateError:
            continue
        pytest.fail(f"{wrong} was taken")


def b4_a_duplicate_is_ignored_and_counted(make: Pieces) -> None:
    injector = make.injector()
    injector.handle().inject(5, 1)
    first = injector.poll(0)
    injector.handle().inject(5, 1)
    assert (first, injector.poll(0)) == (barrier(5), None)
    assert injector.metrics()["duplicates_ignored"] == 1


def b5_an_idle_poll_leaves_the_clock_alone(make: Pieces) -> None:
    injector, reads = make.injector(1), [0]
    if make.impl == "native":
        # No clock can be put under it from here: native/checkpoint/src/injector.rs counts the reads.
        assert [injector.poll() for _ in range(200)] == [None] * 200
        return

    def clock() -> int:
        reads[0] += 1
        return 0

    injector._injects._clock = clock
    for _ in range(64):
        injector.poll()
    assert reads[0] == 1


def b6_a_barrier_finds_room_in_a_full_channel(make: Pieces) -> None:
    channel = make.channel(1)
    assert channel.push(Event("fills it"))
    assert not channel.push(Event("no room"))
    assert channel.push(barrier())


def b7_real_bytes_count(make: Pieces) -> None:
    aligner = make.aligner(max_buffer_memory_bytes=1000)
    aligner.process(0, barrier(), 0)
    assert aligner.process(0, Event(bytes(1001)), 0).kind == "aborted"


def b8_each_input_has_its_own_limit(make: Pieces) -> None:
    aligner = make.aligner(max_buffer_per_input=2)
    aligner.process(0, barrier(), 0)
    assert [action.kind for action in fill(aligner, 0, 3)] == ["buffered", "buffered", "input_full"]


def b9_a_lower_barrier_is_ignored_and_a_higher_one_cancels(make: Pieces) -> None:
    aligner = make.aligner(3)
    aligner.process(0, barrier(5), 0)
    fill(aligner, 0, 1)
    assert aligner.process(1, barrier(4), 0).kind == "ignored_stale"
    action = aligner.process(1, barrier(6), 0)
    assert (action.barrier, payloads(action.released)) == (barrier(6), [(0, 0)])


def b10_completing_early_is_an_error(make: Pieces) -> None:
    aligner = make.aligner()
    aligner.process(0, barrier(), 0)
    with pytest.raises(FramegateError):
        aligner.complete_alignment()


def b11_an_aborted_id_is_remembered(make: Pieces) -> None:
    aligner = make.aligner(alignment_timeout_s=1)
    aligner.process(0, barrier(), 0)
    aligner.check_timeout(2 * SECOND)
    assert aligner.process(1, barrier(), 0).kind == "ignored_aborted"


def b12_buffered_events_are_not_made_late(make: Pieces) -> None:
    aligner = make.aligner()
    for input_id in (0, 1):
        aligner.process(input_id, Watermark(10), 0)
    aligner.process(0, barrier(), 0)
    aligner.process(0, Event("at 15"), 0)
    aligner.process(1, Watermark(20), 0)
    assert aligner.process(0, Watermark(20), 0).kind == "watermark_pass_through"
    assert aligner.operator_watermark() == 10
    aligner.process(1, barrier(), 0)
    aligner.complete_alignment()
    assert aligner.operator_watermark() == 20


def b13_every_message_has_an_answer(make: Pieces) -> None:
    checkpointer = make.checkpointer(128)
    try:
        assert kinds(checkpointer.process(127, barrier(), 0)) == ["buffered"]
        assert kinds(checkpointer.process(127, Event(1), 0)) == ["buffered"]
        assert kinds(checkpointer.process(127, Watermark(1), 0)) == ["watermark_pass_through"]
    except RuntimeError as unreachable:
        pytest.fail(f"{unreachable}")


def b14_who_has_delivered_stays_delivered(make: Pieces) -> None:
    checkpointer = make.checkpointer(3, alignment_timeout_s=1)
    checkpointer.process(0, barrier(), 0)
    fill(checkpointer, 0, 2)
    actions = checkpointer.process(1, barrier(), 2 * SECOND)
    assert (actions[0].pending, drained(actions)) == ((2,), [(0, 0), (0, 1)])


def b15_what_comes_before_the_late_barrier_is_in_the_checkpoint(make: Pieces) -> None:
    checkpointer = make.checkpointer()
    assert "checkpoint_complete" not in kinds(checkpointer.process(0, barrier(unaligned=True), 0))
    checkpointer.process(1, Event("before its barrier"), 0)
    assert kinds(checkpointer.process(1, barrier(), 0)) == ["late_barrier", "checkpoint_complete"]
    assert len(checkpointer.snapshot()[1]) == 1


def b16_a_silent_input_stalls_nothing(make: Pieces) -> None:
    checkpointer = make.checkpointer(alignment_timeout_s=1)
    checkpointer.process(0, barrier(), 0)
    assert kinds(checkpointer.on_tick(2 * SECOND)) == ["trigger_snapshot", "forward_barrier"]


def b19_the_barrier_is_forwarded_before_what_was_behind_it(make: Pieces) -> None:
    """Two chained stages: what the second one has processed when it snapshots is what came before the barriers."""
    first, second, state = make.checkpointer(2), make.aligner(1), list[str]()
    first.process(0, barrier(), 0)
    first.process(0, Event("behind"), 0)
    for action in first.process(1, barrier(), 0):
        message = action.barrier if action.kind == "forward_barrier" else action.event
        if message is None:
            continue
        told = second.process(0, message, 0)
        if told.kind == "trigger_snapshot":
            break
        state.append("processed")
    assert state == []


def b20_an_ended_input_holds_up_nothing(make: Pieces) -> None:
    checkpointer = make.checkpointer()
    checkpointer.end_input(1, 0)
    assert kinds(checkpointer.process(0, barrier(), 0)) == [
        "trigger_snapshot",
        "forward_barrier",
        "checkpoint_complete",
    ]


def b22_a_full_buffer_switches(make: Pieces) -> None:
    checkpointer = make.checkpointer(max_buffer_memory_bytes=2)
    checkpointer.process(0, barrier(), 0)
    actions = [kinds(each) for each in fill(checkpointer, 0, 3)]
    assert actions[2] == ["trigger_snapshot", "forward_barrier", "drain_buffered", "drain_buffered", "pass_through"]


def b24_after_a_failure_the_next_attempt_is_aligned(make: Pieces) -> None:
    checkpointer = make.checkpointer()
    checkpointer.process(0, barrier(1, unaligned=True), 0)
    checkpointer.fail(1)
    assert kinds(checkpointer.process(0, barrier(2, unaligned=True), 0)) == ["buffered"]


CHECKS: Final[dict[str, Check]] = {
    "B1": b1_a_command_in_between_is_not_lost,
    "B2": b2_ids_and_epochs_never_go_back,
    "B3": b3_nothing_is_cut_short,
    "B4": b4_a_duplicate_is_ignored_and_counted,
    "B5": b5_an_idle_poll_leaves_the_clock_alone,
    "B6": b6_a_barrier_finds_room_in_a_full_channel,
    "B7": b7_real_bytes_count,
    "B8": b8_each_input_has_its_own_limit,
    "B9": b9_a_lower_barrier_is_ignored_and_a_higher_one_cancels,
    "B10": b10_completing_early_is_an_error,
    "B11": b11_an_aborted_id_is_remembered,
    "B12": b12_buffered_events_are_not_made_late,
    "B13": b13_every_message_has_an_answer,
    "B14": b14_who_has_delivered_stays_delivered,
    "B15": b15_what_comes_before_the_late_barrier_is_in_the_checkpoint,
    "B16": b16_a_silent_input_stalls_nothing,
    "B19": b19_the_barrier_is_forwarded_before_what_was_behind_it,
    "B20": b20_an_ended_input_holds_up_nothing,
    "B22": b22_a_full_buffer_switches,
    "B24": b24_after_a_failure_the_next_attempt_is_aligned,
}
"""B17 and B18 are the store's, in tests/unit/joinbarrier; B23 is below; B21: test_pool_between.py."""


@pytest.mark.parametrize("impl", ["reference", "native"])
@pytest.mark.parametrize("rule", CHECKS)
def test_the_rule_holds(rule: str, impl: str) -> None:
    CHECKS[rule](Pieces("native" if impl == "native" else "reference"))


@pytest.mark.parametrize("rule", CHECKS)
def test_the_original_reading_fails_the_same_check(rule: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        CHECKS[rule](Pieces("reference", rule))


def test_b23_an_early_end_is_no_overlap_where_one_aligner_for_all_would_find_one() -> None:
    end, probe = BarrierSignal("StreamGracefulEnd", 0), BarrierSignal("SyncTest", 4)
    ends, probes, together = SignalAligner(2), SignalAligner(2), SignalAligner(2)
    assert [ends.align(end), probes.align(probe), probes.align(probe)] == [None, None, probe]
    together.align(probe)
    with pytest.raises(OverlappingBarrier):
        together.align(end)


# --- Rules of the whole pipeline, as far as these pieces keep them --------------------------------------


@pytest.fixture(params=["reference", "native"])
def make(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(request.param)


def test_p4_watermarks_of_late_inputs_are_captured_in_their_place(make: Pieces) -> None:
    checkpointer = make.checkpointer()
    checkpointer.process(0, barrier(unaligned=True), 0)
    messages: list[Event | Watermark] = [Event("a"), Watermark(3), Event("b"), Watermark(4)]
    for message in messages:
        checkpointer.process(1, message, 0)
    assert checkpointer.snapshot() == {1: messages}


def test_p5_a_signal_behind_a_barrier_waits_like_an_event(make: Pieces) -> None:
    """A data-channel signal goes through the aligner as an event, and only then to the signals' aligner."""
    aligner, signals, end = make.aligner(), SignalAligner(2, make.impl), BarrierSignal("StreamGracefulEnd", 0)
    aligner.process(0, barrier(), 0)
    assert aligner.process(0, Event(end), 0).kind == "buffered"
    assert aligner.process(1, Event(end), 0).kind == "pass_through"
    assert signals.align(end) is None
    aligner.end_input(1, 0)
    assert [signals.align(event.payload) for _, event in aligner.complete_alignment()] == [end]


def test_p11_thresholds_do_not_add_up_along_a_chain(make: Pieces) -> None:
    first, second = (make.checkpointer(alignment_timeout_s=1) for _ in range(2))
    first.process(0, barrier(), 0)
    _, forward = first.on_tick(2 * SECOND)
    assert forward.barrier is not None
    assert kinds(second.process(0, forward.barrier, 2 * SECOND)) == ["trigger_snapshot", "forward_barrier"]


def test_p12_memory_comes_before_time(make: Pieces) -> None:
    checkpointer = make.checkpointer(alignment_timeout_s=3600)
    checkpointer.process(0, barrier(), 0)
    frame, answers = Event(None, size=640 << 10), list[str]()
    while answers[-1:] != ["pass_through"]:
        answers += kinds(checkpointer.process(0, frame, 0))
    assert answers.count("buffered") == (256 << 20) // (640 << 10)
    assert checkpointer.metrics()["limit_switches"] == 1


def test_p14_a_restored_aligner_ignores_what_its_checkpoint_has_seen(make: Pieces) -> None:
    aligner, checkpointer = make.aligner(floor=7), make.checkpointer(floor=7)
    assert aligner.process(0, barrier(7), 0).kind == "ignored_stale"
    assert kinds(checkpointer.process(0, barrier(7), 0)) == ["ignored_stale"]
    assert aligner.process(0, barrier(8), 0).kind == "buffered"


def test_p15_whoever_owes_a_barrier_is_named(make: Pieces) -> None:
    checkpointer = make.checkpointer(3, late_barrier_timeout_s=1)
    checkpointer.process(0, barrier(1, unaligned=True), 0)
    (lost,) = checkpointer.lose_input(2)
    checkpointer.process(0, CheckpointBarrier(2, 1, unaligned=True), 0)
    (silent,) = checkpointer.on_tick(2 * SECOND)
    assert [(each.cause, each.input_id) for each in (lost, silent)] == [("input_lost", 2), ("late_barrier_timeout", 1)]


@pytest.mark.parametrize(
    ("letter", "check"),
    [
        ("B15", test_p4_watermarks_of_late_inputs_are_captured_in_their_place),
        ("P11", test_p11_thresholds_do_not_add_up_along_a_chain),
        ("B22", test_p12_memory_comes_before_time),
        ("P14", test_p14_a_restored_aligner_ignores_what_its_checkpoint_has_seen),
        ("P15", test_p15_whoever_owes_a_barrier_is_named),
    ],
    ids=["P4", "P11", "P12", "P14", "P15"],
)
def test_by_the_letter_the_same_rule_of_the_pipeline_fails(letter: str, check: Check) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check(Pieces("reference", letter))


def test_p5_a_signal_that_goes_round_the_barrier_ends_an_agent_that_still_buffers(make: Pieces) -> None:
    """The rule broken: the other input's end completes the signal while what came before this one's is held."""
    aligner, signals, end = make.aligner(), SignalAligner(2, make.impl), BarrierSignal("StreamGracefulEnd", 0)
    aligner.process(0, barrier(), 0)
    aligner.process(0, Event("before its end"), 0)
    assert [signals.align(end), signals.align(end)] == [None, end]
    assert aligner.buffered_events == 1
