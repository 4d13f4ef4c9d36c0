# SPDX-License-Identifier: Apache-2.0
"""The exchange of MergeMaps over a control stream that loses, duplicates, delays and reorders.

Whatever befalls the messages: a stage applies only maps that its authority really had, stops before each change, and
holds the authority's map in the end. Two authorities hear of each other, and neither gives way.
"""

from __future__ import annotations

from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.merge import ClockDomain
from framegate.shmpool.transport.loopback.faults import FaultRule, Faults
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joins.map_world import MapWorld, Stage

OUT, EPOCH = 20001, 3
FAULTS = st.builds(
    lambda loss, duplicate, delay_ms, may_reorder: Faults(
        (FaultRule(loss=loss, duplicate=duplicate, delay_ns=(0, delay_ms * 1_000_000), may_reorder=may_reorder),)
    ),
    loss=st.floats(0, 0.9),
    duplicate=st.floats(0, 0.9),
    delay_ms=st.integers(0, 1500),
    may_reorder=st.booleans(),
)
SEEDS = st.integers(0, 2**32)
OFFSETS = st.lists(st.integers(-5, 5), min_size=1, max_size=5)
SETTLING_S = 4.0
"""Longer than a delay and a period of announces."""


def a_map(offset: int, epoch: int = EPOCH) -> MergeMap:
    return MergeMap(OUT, epoch, [SequenceRule(10001, offset=0), SequenceRule(10002, offset=offset)])


def a_time_map(offset_ns: int) -> MergeMap:
    return MergeMap(OUT, EPOCH, [TimestampRule(10001, offset_ns=offset_ns)], clock_domain=ClockDomain.MONOTONIC)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, faults=FAULTS, offsets=OFFSETS)
def test_every_stage_ends_with_the_authoritys_map_and_applies_none_that_it_never_had(
    seed: int, faults: Faults, offsets: list[int]
) -> None:
    world = MapWorld(seed, faults)
    owner = world.station()
    stages = [Stage(world.station(), OUT, EPOCH) for _ in range(2)]
    for offset in offsets:
        owner.exchange.own(a_map(offset))
        world.run(0.7)
    world.heal()
    world.run(SETTLING_S)
    owned = {a_map(offset) for offset in offsets}
    for stage in stages:
        assert stage.applied == a_map(offsets[-1])
        assert set(stage.history) <= owned
    assert owner.conflicts == []


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, faults=FAULTS)
def test_announces_again_and_again_never_stop_a_stage_that_has_the_map(seed: int, faults: Faults) -> None:
    world = MapWorld(seed, faults)
    owner, stage = world.station(), Stage(world.station(), OUT, EPOCH)
    owner.exchange.own(a_map(1))
    world.run(10)
    world.heal()
    world.run(SETTLING_S)
    assert stage.history == [a_map(1)]


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, faults=FAULTS)
def test_a_stage_whose_output_nobody_owns_stays_blocked_and_keeps_asking(seed: int, faults: Faults) -> None:
    world = MapWorld(seed, faults)
    owner = world.station()
    owner.exchange.own(a_map(1))
    owner.exchange.own(MergeMap(OUT + 1, EPOCH, [SequenceRule(10001, offset=0)]))
    lost = [
        Stage(world.station(), OUT, EPOCH + 1),
        Stage(world.station(), OUT + 2, EPOCH),
        Stage(world.station(), OUT, EPOCH, is_by_timestamp=True),
    ]
    world.run(5)
    for stage in lost:
        assert stage.history == []
        # 0, 0.1, 0.3, 0.7, 1.5, 2.5, 3.5 and 4.5 s after its beginning
        assert stage.client.counts["requests"] == 8


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, faults=FAULTS, left=st.integers(-5, 5), right=st.integers(-5, 5))
def test_two_authorities_hear_of_each_other_and_neither_gives_way(
    seed: int, faults: Faults, left: int, right: int
) -> None:
    world = MapWorld(seed, faults)
    owners = [world.station(), world.station()]
    for owner, offset in zip(owners, (left, right), strict=True):
        owner.exchange.own(a_map(offset))
    world.run(4)
    world.heal()
    world.run(SETTLING_S)
    for owner, offset in zip(owners, (left, right), strict=True):
        assert len(owner.conflicts) == 1
        assert owner.exchange.counters()["conflicts"] > 1
        assert owner.exchange.authority.maps == (a_map(offset),)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, faults=FAULTS, epochs=st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_in_each_epoch_a_stage_takes_only_that_epochs_map(seed: int, faults: Faults, epochs: list[int]) -> None:
    """The checks are in the stage: what it applies is of its pair, and it is stopped before it gets another."""
    world = MapWorld(seed, faults)
    owner, stage = world.station(), Stage(world.station(), OUT, 0)
    owner.exchange.own(a_map(1, 0), is_any_epoch=True)
    for epoch in epochs:
        world.run(0.5)
        stage.new_epoch(epoch)
        assert stage.applied in (None, a_map(1, epoch))
    world.heal()
    world.run(SETTLING_S)
    assert stage.applied == a_map(1, epochs[-1])


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, faults=FAULTS)
def test_maps_of_both_kinds_for_one_output_reach_each_its_own_stage(seed: int, faults: Faults) -> None:
    world = MapWorld(seed, faults)
    by_seq, by_time = world.station(), world.station()
    by_seq.exchange.own(a_map(1))
    by_time.exchange.own(a_time_map(-5))
    stages = Stage(world.station(), OUT, EPOCH), Stage(world.station(), OUT, EPOCH, is_by_timestamp=True)
    world.run(4)
    world.heal()
    world.run(SETTLING_S)
    assert [stage.history for stage in stages] == [[a_map(1)], [a_time_map(-5)]]


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, faults=FAULTS)
def test_an_authority_that_comes_late_or_again_is_found(seed: int, faults: Faults) -> None:
    world = MapWorld(seed, faults)
    stage = Stage(world.station(), OUT, EPOCH)
    world.run(3)
    assert stage.history == []
    first = world.station()
    first.exchange.own(a_map(1))
    world.run(3)
    first.exchange.close()
    world.stations.remove(first)
    world.run(2)
    second = world.station()
    second.exchange.own(a_map(2))
    world.heal()
    world.run(SETTLING_S)
    assert stage.applied == a_map(2)
    assert second.conflicts == [] or faults.rules[0].delay_ns[1] > 0
