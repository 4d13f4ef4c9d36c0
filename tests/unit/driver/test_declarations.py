# SPDX-License-Identifier: Apache-2.0
"""What a producer declares before it attaches: regions that fit its frames, and the clock of its timestamps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from framegate.driver.configuration import load_driver_config
from framegate.driver.lease_actions import Announce
from framegate.driver.lease_rules import LeaseRules, Limits, rules_of
from framegate.driver.options import DriverOptions
from framegate.schema import control
from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import ShmAttachResponse
from framegate.schema.wire import ClockDomain

from tests.unit.driver.lease_world import SECOND, STATIC, STREAM, World, announces, answer, attach, consumer, only

MONOTONIC, REALTIME = ClockDomain.MONOTONIC, ClockDomain.REALTIME_SYNCED
KIB, MIB = 1 << 10, 1 << 20


def built_in(**options: int) -> LeaseRules:
    return rules_of(load_driver_config(DriverOptions(**options), {}), has_hugepages=False)  # type: ignore[arg-type]


def declared(
    frame_bytes: int | None = None,
    domain: ClockDomain | None = None,
    *,
    client_id: int = 42,
    stream_id: int = STREAM,
    nslots: int | None = None,
) -> StreamDeclaration:
    clock = None if domain is None else control.ClockDomain(domain)
    return StreamDeclaration(
        stream_id=stream_id, client_id=client_id, clock_domain=clock, frame_bytes=frame_bytes, nslots=nslots
    )


def shape(response: ShmAttachResponse) -> tuple[int | None, list[int]]:
    assert all(pool.pool_nslots == response.header_nslots for pool in response.payload_pools)
    return response.header_nslots, [pool.stride_bytes for pool in response.payload_pools]


@pytest.mark.parametrize(
    ("frame_bytes", "wanted"),
    [
        (48, (4096, [64])),
        (65, (4096, [128])),
        (4 * KIB, (4096, [4 * KIB])),
        (64 * KIB, (256, [64 * KIB])),
        (640 * KIB, (128, [MIB])),
        (24 * MIB, (128, [32 * MIB])),
        (None, (128, [64 * KIB, MIB])),
        # Above what a stride can be.
        ((1 << 31) + 1, (128, [64 * KIB, MIB])),
    ],
)
def test_the_built_in_profile_fits_the_frames(frame_bytes: int | None, wanted: tuple[int, list[int]]) -> None:
    world = World(built_in())
    world.send(declared(frame_bytes))
    assert shape(answer(world.send(attach()))) == wanted


def test_a_client_that_declares_nothing_gets_the_built_in_pools() -> None:
    assert shape(answer(World(built_in()).send(attach()))) == (128, [64 * KIB, MIB])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"slots": 32}, (32, [64])),
        ({"frame_bytes": 4 * KIB}, (4096, [4 * KIB])),
        ({"frame_bytes": 2 * MIB}, (128, [64 * KIB, 2 * MIB])),
        ({"slots": 16, "frame_bytes": 100}, (16, [128])),
    ],
)
def test_options_win_over_what_is_declared(options: dict[str, int], wanted: tuple[int, list[int]]) -> None:
    world = World(built_in(**options))
    world.send(declared(48, nslots=64))
    assert shape(answer(world.send(attach()))) == wanted


@pytest.mark.parametrize(("nslots", "wanted"), [(2, 2), (65_536, 65_536), (1, 4096), (100, 4096), (1 << 17, 4096)])
def test_slots_that_are_declared_are_taken_where_they_can_be(nslots: int, wanted: int) -> None:
    world = World(built_in())
    world.send(declared(48, nslots=nslots))
    assert shape(answer(world.send(attach())))[0] == wanted


def test_a_profile_of_the_file_wins_unless_it_leaves_the_shape_to_producers(tmp_path: Path) -> None:
    file = tmp_path / "driver.toml"
    pools = "payload_pools = [{ pool_id = 3, stride_bytes = 4096 }]"
    for lines, wanted in (
        ("", (1024, [4096])),
        ("fit_frames = true", (4096, [64])),
        ("fit_frames = true\nheader_nslots = 8", (8, [64])),
    ):
        file.write_text(f"[profiles.a]\n{pools}\n{lines}\n")
        world = World(rules_of(load_driver_config(DriverOptions(config=file), {}), has_hugepages=False))
        world.send(declared(48))
        assert shape(answer(world.send(attach()))) == wanted


def test_a_declaration_is_of_one_client_and_one_stream_and_goes_with_the_grant() -> None:
    world = World(built_in())
    for other in (declared(48, client_id=43), declared(48, stream_id=STREAM + 1), declared(48)):
        world.send(other)
    lease = world.grant(attach())
    assert only(regions for regions in [world.current()] if regions).header_nslots == 4096
    world.send(lease.detach())
    assert shape(answer(world.send(attach()))) == (128, [64 * KIB, MIB])


def test_a_consumer_declares_nothing_whoever_speaks_in_its_name() -> None:
    world = World(built_in())
    world.send(declared(48, REALTIME, client_id=43))
    response = answer(world.send(consumer(43)))
    assert shape(response) == (128, [64 * KIB, MIB])
    assert world.authority.streams.get(STREAM) is not None
    assert last_domain(world) is MONOTONIC


def test_the_next_placeholder_has_the_default_layout_and_the_next_producer_its_own() -> None:
    """Nothing but its reader may hold a stream's slots over an epoch."""
    world = World(built_in())
    seen = []
    for frame_bytes in (48, 640 * KIB):
        world.send(declared(frame_bytes))
        lease = world.grant(attach())
        seen.append(slots_of(world))
        world.send(lease.detach())
        seen.append(slots_of(world))
    assert seen == [4096, 128, 128, 128]


def slots_of(world: World) -> int:
    regions = world.current()
    assert regions is not None
    return regions.header_nslots


def test_declarations_that_no_attach_follows_are_bounded_and_the_oldest_go() -> None:
    world = World(replace(built_in(), limits=Limits(pending_attaches=2)))
    for client_id in (1, 2, 3):
        world.send(declared(48, client_id=client_id))
    assert world.authority.counts["declarations_dropped"] == 1
    lost = world.grant(attach(1))
    assert slots_of(world) == 128
    world.send(lost.detach())
    world.grant(attach(2))
    assert slots_of(world) == 4096


# --- clocks ------------------------------------------------------------------------------------------------


def last_domain(world: World) -> ClockDomain:
    return announces(world.log)[-1].clock_domain


def test_a_clock_that_is_declared_is_announced_with_the_grant_and_again_each_period() -> None:
    world = World()
    world.send(declared(None, REALTIME))
    lease = world.grant(attach())
    assert last_domain(world) is REALTIME
    periodic = only(announces(world.keep_alive(lease, seconds=1)))
    assert (periodic.clock_domain, periodic.is_periodic) == (REALTIME, True)


def test_a_clock_domain_changes_with_the_producer_and_no_sooner() -> None:
    """The tail of the old epoch is still read while nobody writes: its clock holds until another producer comes."""
    world = World()
    world.send(declared(None, REALTIME))
    lease = world.grant(attach())
    world.send(lease.detach())
    assert last_domain(world) is REALTIME
    world.send(declared(None, MONOTONIC, client_id=43))
    lease = world.grant(attach(43))
    assert last_domain(world) is MONOTONIC
    world.send(lease.detach())
    world.grant(attach(44))
    assert last_domain(world) is MONOTONIC


def test_a_consumer_that_comes_late_is_told_the_clock_with_its_grant() -> None:
    world = World()
    world.send(declared(None, REALTIME))
    producer = world.grant(attach())
    actions = world.send(consumer())
    told = only(announces(actions))
    assert isinstance(actions[-1], Announce)
    assert (told.producer_id, told.clock_domain, told.is_periodic) == (producer.client_id, REALTIME, False)


@pytest.mark.parametrize(("said", "wanted"), [(None, REALTIME), (MONOTONIC, MONOTONIC), (REALTIME, REALTIME)])
def test_the_files_clock_holds_where_the_producer_does_not_say(
    said: ClockDomain | None, wanted: ClockDomain, tmp_path: Path
) -> None:
    file = tmp_path / "driver.toml"
    profile = "[profiles.a]\npayload_pools = [{ pool_id = 1, stride_bytes = 64 }]\n"
    file.write_text(f'{profile}[streams.cam]\nstream_id = {STATIC}\nprofile = "a"\nclock = "realtime"\n')
    world = World(rules_of(load_driver_config(DriverOptions(config=file), {}), has_hugepages=False))
    assert last_domain(world) is REALTIME
    world.send(declared(None, said, stream_id=STATIC))
    world.grant(attach(stream_id=STATIC))
    assert last_domain(world) is wanted


def test_a_driver_that_was_restarted_says_the_clock_once_the_producer_is_back() -> None:
    world = World(floors={STREAM: 5_000})
    world.grant(consumer())
    assert last_domain(world) is MONOTONIC
    world.send(declared(None, REALTIME))
    world.grant(attach())
    assert last_domain(world) is REALTIME
    world.pass_time(SECOND)
    assert only(each for each in world.authority.streams if each.stream_id == STREAM).clock_domain is REALTIME
