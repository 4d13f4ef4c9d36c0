# SPDX-License-Identifier: Apache-2.0
"""The pieces put together: barriers through stages, joins and unions that align, slow inputs, recovery."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.joinbarrier.checkpoint import Channel, CheckpointBarrier, Event, UnalignedCheckpointer, Watermark

from tests.conformance.checkpoint_stages import Joined, Stage, United, everything, source
from tests.conformance.checkpoint_world import SECOND, Pieces, barrier


@pytest.fixture(params=["reference", "native"])
def make(request: pytest.FixtureRequest) -> Pieces:
    return Pieces(request.param)


def channels(make: Pieces, count: int, capacity: int = 4096) -> list[Channel]:
    return [make.channel(capacity) for _ in range(count)]


def put(channel: Channel, *messages: Any) -> None:
    for message in messages:
        kept = message if isinstance(message, CheckpointBarrier | Watermark) else Event(message)
        assert channel.push(kept)


# --- Barriers (the text on the barrier protocol) --------------------------------------------------------


def test_barrier_flows_through_single_operator(make: Pieces) -> None:
    into, out = channels(make, 2)
    stage = Stage(make, [into], [out], United())
    put(into, "a", barrier(1), "b")
    stage.run()
    assert everything(out) == ["a", "barrier 1", "b"]
    assert stage.snapshots == {1: [(0, "a")]}


def test_barrier_flows_through_linear_chain(make: Pieces) -> None:
    links = channels(make, 4)
    stages = [Stage(make, [links[i]], [links[i + 1]], United()) for i in range(3)]
    put(links[0], "a", barrier(1), "b", barrier(2))
    for stage in stages:
        stage.run()
    assert everything(links[3]) == ["a", "barrier 1", "b", "barrier 2"]
    assert all(stage.snapshots == {1: [(0, "a")], 2: [(0, "a"), (0, "b")]} for stage in stages)


def test_barrier_fan_out_to_multiple_channels(make: Pieces) -> None:
    into, *out = channels(make, 4)
    put(into, "a", barrier(1), "b")
    Stage(make, [into], out, United()).run()
    assert [everything(each) for each in out] == [["a", "barrier 1", "b"]] * 3


def test_barrier_interleaved_with_events(make: Pieces) -> None:
    into, out = channels(make, 2)
    injector = make.injector()
    handle = injector.handle()
    for number in range(10):
        put(into, number)
        if number % 3 == 2:
            handle.inject(number, 1)
        if (found := injector.poll(0)) is not None:
            put(into, found)
    stage = Stage(make, [into], [out], United())
    stage.run()
    assert everything(out) == [0, 1, 2, "barrier 2", 3, 4, 5, "barrier 5", 6, 7, 8, "barrier 8", 9]
    assert {each: len(state) for each, state in stage.snapshots.items()} == {2: 3, 5: 6, 8: 9}


def test_periodic_injection_under_load(make: Pieces) -> None:
    into, out = channels(make, 2)
    injector, now = make.injector(1), iter(range(0, 10**12, SECOND // 100))
    source(into, range(1000), lambda: injector.poll(next(now)))
    stage = Stage(make, [into], [out], United())
    stage.run()
    # The first poll starts the interval; then a barrier behind every hundredth event.
    assert {each: len(state) for each, state in stage.snapshots.items()} == {n: 100 * n + 1 for n in range(1, 10)}


def test_coordinator_triggered_injection(make: Pieces) -> None:
    sources, (out,) = channels(make, 2), channels(make, 1)
    injectors = [make.injector() for _ in sources]
    for injector in injectors:
        injector.handle().inject(4, 2, unaligned=False)
    for channel, injector in zip(sources, injectors, strict=True):
        source(channel, ["x", "y"], lambda injector=injector: injector.poll(0))  # type: ignore[misc]
    stage = Stage(make, sources, [out], United())
    stage.run()
    assert everything(out) == ["x", "x", "barrier 4", "y", "y"]
    assert stage.complete == [4]


# --- Alignment ------------------------------------------------------------------------------------------


def test_join_operator_with_barrier_alignment(make: Pieces) -> None:
    left, right, out = channels(make, 3)
    put(left, (0, "l0"), (1, "l1"), barrier(1), (2, "l2"))
    put(right, (0, "r0"), barrier(1), (1, "r1"), (2, "r2"))
    stage = Stage(make, [left, right], [out], Joined())
    stage.run()
    assert everything(out) == [(0, "l0", "r0"), "barrier 1", (1, "l1", "r1"), (2, "l2", "r2")]
    assert stage.snapshots == {1: (1, {1: "l1"}, {})}


def test_union_operator_with_three_inputs(make: Pieces) -> None:
    *into, out = channels(make, 4)
    for number, channel in enumerate(into):
        put(channel, *[f"{number}{n}" for n in range(number)], barrier(1), f"{number} after")
    stage = Stage(make, into, [out], United())
    stage.run()
    found = everything(out)
    cut = found.index("barrier 1")
    assert sorted(found[:cut]) == ["10", "20", "21"]
    assert found[cut + 1 :] == ["0 after", "1 after", "2 after"]


def test_alignment_under_backpressure(make: Pieces) -> None:
    fast, slow, out = channels(make, 3)
    stage = Stage(make, [fast, slow], [out], United())
    put(fast, barrier(1), *range(500))
    for _ in range(501):
        stage.read(0)
    assert stage.aligner is not None
    assert stage.aligner.metrics()["current_buffered"] == 500
    put(slow, "slow", barrier(1))
    stage.run()
    assert everything(out) == ["slow", "barrier 1", *range(500)]


def test_alignment_timeout_triggers_abort(make: Pieces) -> None:
    fast, slow, out = channels(make, 3)
    stage = Stage(make, [fast, slow], [out], United(), make.aligner(2, alignment_timeout_s=1))
    put(fast, "a", barrier(1), "b")
    stage.run()
    stage.tick(2 * SECOND)
    assert (stage.aborted, stage.snapshots, everything(out)) == ([1], {}, ["a", "b"])
    put(slow, barrier(1), "c")
    stage.run()
    assert everything(out) == ["c"]


def test_alignment_then_normal_processing(make: Pieces) -> None:
    left, right, out = channels(make, 3)
    stage = Stage(make, [left, right], [out], United())
    put(left, barrier(1), "l")
    put(right, barrier(1), "r")
    stage.run()
    put(right, "r again")
    put(left, "l again")
    stage.run()
    assert everything(out) == ["barrier 1", "l", "r", "l again", "r again"]


def test_consecutive_checkpoints(make: Pieces) -> None:
    left, right, out = channels(make, 3)
    for checkpoint_id in range(1, 21):
        put(left, ("l", checkpoint_id), barrier(checkpoint_id))
        put(right, barrier(checkpoint_id), ("r", checkpoint_id))
    stage = Stage(make, [left, right], [out], United())
    stage.run()
    assert stage.complete == list(range(1, 21))
    assert [len(state) for state in stage.snapshots.values()] == [2 * n - 1 for n in range(1, 21)]


def test_two_chained_agents_cut_at_the_same_place(make: Pieces) -> None:
    a, b, between, c, out = channels(make, 5)
    first = Stage(make, [a, b], [between], United(), make.checkpointer(2))
    second = Stage(make, [between, c], [out], United(), make.checkpointer(2))
    put(a, 1, barrier(1), 2)
    put(b, 3, 4, 5, barrier(1), 6)
    put(c, barrier(1), 7)
    first.run()
    second.run()
    assert {value for _, value in second.snapshots[1]} == {1, 3, 4, 5}
    assert (first.complete, second.complete) == ([1], [1])


# --- Overtaking -----------------------------------------------------------------------------------------


def unaligned_stage(make: Pieces, operator: Any = None) -> tuple[Stage, list[Channel]]:
    *into, out = channels(make, 3)
    checkpointer = make.checkpointer(2, alignment_timeout_s=1)
    return Stage(make, into, [out], operator or United(), checkpointer), [*into, out]


def in_flight(stage: Stage) -> dict[int, list[Any]]:
    assert isinstance(stage.aligner, UnalignedCheckpointer)
    captured = stage.aligner.snapshot()
    return {i: [event.payload for event in events if isinstance(event, Event)] for i, events in captured.items()}


def test_unaligned_checkpoint_with_backpressure(make: Pieces) -> None:
    stage, (fast, slow, out) = unaligned_stage(make)
    put(fast, "a", barrier(1), "b")
    stage.run()
    stage.tick(2 * SECOND)
    assert everything(out) == ["a", "barrier 1", "b"]
    put(slow, "late", barrier(1), "after")
    stage.run(2 * SECOND)
    assert (stage.complete, in_flight(stage)) == ([1], {1: ["late"]})
    assert everything(out) == ["late", "after"]


def test_unaligned_then_aligned_sequence(make: Pieces) -> None:
    stage, (fast, slow, out) = unaligned_stage(make)
    for checkpoint_id, is_slow in enumerate([True, False, True, False], start=1):
        now = checkpoint_id * 10 * SECOND
        put(fast, ("f", checkpoint_id), barrier(checkpoint_id))
        stage.run(now)
        stage.tick(now + (2 * SECOND if is_slow else 0))
        put(slow, ("s", checkpoint_id), barrier(checkpoint_id))
        stage.run(now)
        assert in_flight(stage) == ({1: [("s", checkpoint_id)]} if is_slow else {})
    assert stage.complete == [1, 2, 3, 4]
    assert [each for each in everything(out) if isinstance(each, str)] == [f"barrier {n}" for n in range(1, 5)]


def test_unaligned_with_join_operator(make: Pieces) -> None:
    stage, (left, right, out) = unaligned_stage(make, Joined())
    put(left, (0, "l0"), (1, "l1"), barrier(1), (2, "l2"))
    stage.run()
    stage.tick(2 * SECOND)
    put(right, (0, "r0"), (1, "r1"), barrier(1), (2, "r2"))
    stage.run(2 * SECOND)
    assert everything(out) == ["barrier 1", (0, "l0", "r0"), (1, "l1", "r1"), (2, "l2", "r2")]
    assert stage.snapshots[1] == (0, {0: "l0", 1: "l1"}, {})
    assert in_flight(stage) == {1: [(0, "r0"), (1, "r1")]}


def test_unaligned_recovery_replays_inflight(make: Pieces) -> None:
    """State, then in-flight events, then their barrier, then what the sources bring from their positions."""
    stage, (left, right, _) = unaligned_stage(make, Joined())
    put(left, (0, "l0"), (1, "l1"), barrier(1), (2, "l2"))
    stage.run()
    stage.tick(2 * SECOND)
    put(right, (0, "r0"), (1, "r1"), barrier(1))
    stage.run(2 * SECOND)
    state, events = stage.snapshots[1], in_flight(stage)

    restored, (left, right, out) = unaligned_stage(make, Joined.restored(state))
    restored.aligner = make.checkpointer(2, floor=1)
    put(right, *events[1], barrier(1), (2, "r2"))
    put(left, (2, "l2"))
    restored.run()
    assert everything(out) == [(0, "l0", "r0"), (1, "l1", "r1"), (2, "l2", "r2")]


def test_a_checkpoint_with_an_ended_an_idle_and_a_live_input(make: Pieces) -> None:
    *into, out = channels(make, 4)
    checkpointer = make.checkpointer(3, alignment_timeout_s=1, late_barrier_timeout_s=5)
    stage = Stage(make, into, [out], United(), checkpointer)
    for action in checkpointer.end_input(0, 0):
        stage.obey(action)
    put(into[1], "live", barrier(1))
    stage.run()
    stage.tick(2 * SECOND)
    assert everything(out) == ["live", "barrier 1"]
    stage.tick(8 * SECOND)
    assert (stage.aborted, stage.complete) == ([1], [])
    put(into[2], barrier(1))
    for channel in into[1:]:
        put(channel, barrier(2))
    stage.run(9 * SECOND)
    assert stage.complete == [2]
