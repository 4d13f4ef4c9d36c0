# SPDX-License-Identifier: Apache-2.0
"""Epoch numbers, and epoch folders on disk: found, counted above, kept or collected (PROTOCOL 5.2, 6.2, 6.4)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from framegate.driver.epochs import (
    EPOCH_MAX,
    UNREADABLE_MIN_AGE_NS,
    EpochCounter,
    FoundEpoch,
    Keeping,
    collectable,
    left_behind,
)
from framegate.driver.lease_actions import PoolShape, Provision, Provisioned, StreamProfile
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import NativeMaker, RegionStore
from framegate.schema.config.settings import clean_user
from framegate.shmpool.clock import ManualClock, monotonic_ns
from framegate.shmpool.marks.ended import is_marked_ended, mark_ended
from hypothesis import given
from hypothesis import strategies as st

OWN, DEAD, ALIVE = 1000, 2000, 3000
IS_ALIVE = {OWN: True, DEAD: False, ALIVE: True}
OLD, YOUNG = 101, 100


def found(epoch: int, pid: int | None = DEAD, age_ns: int = OLD, stream_id: int = 1) -> FoundEpoch:
    return FoundEpoch(stream_id=stream_id, epoch=epoch, pid=pid, age_ns=age_ns)


def gone(*epochs: FoundEpoch, served: set[tuple[int, int]] | None = None, keep: int = 2) -> list[int]:
    keeping = Keeping(keep=keep, min_age_ns=100, own_pid=OWN, served=frozenset(served or ()))
    return [each.epoch for each in collectable(epochs, keeping, IS_ALIVE)]


@given(
    st.dictionaries(st.integers(0, 3), st.integers(0, 2**64 - 2)),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**62)), max_size=50),
)
def test_every_number_is_above_all_before_it_above_the_floor_and_not_behind_the_clock(
    floors: dict[int, int], asked: list[tuple[int, int]]
) -> None:
    counter, last = EpochCounter(floors), dict(floors)
    for stream_id, now_ns in asked:
        epoch = counter.next(stream_id, now_ns)
        if epoch is None:
            assert last[stream_id] == EPOCH_MAX
            continue
        assert max(now_ns, last.get(stream_id, 0) + 1) <= epoch <= EPOCH_MAX
        last[stream_id] = epoch


def test_numbers_go_on_where_the_clock_of_a_host_begins_anew() -> None:
    before, after = EpochCounter(ahead_ns=1_000_000), EpochCounter(ahead_ns=1_000_900)
    assert before.next(1, now_ns=800) == 1_000_800
    assert after.next(1, now_ns=3) == 1_000_903


def test_a_floor_of_one_stream_does_not_lift_the_others() -> None:
    counter = EpochCounter({1: 2**63})
    assert counter.next(1, 10) == 2**63 + 1
    assert counter.next(2, 10) == 11


def test_an_epoch_goes_when_it_is_stale_its_process_is_dead_and_nobody_serves_its_stream() -> None:
    assert gone(found(1), found(2), found(3)) == [1, 2, 3]


def test_an_epoch_of_a_living_process_or_with_fresh_activity_stays() -> None:
    assert gone(found(1, ALIVE), found(2, DEAD, YOUNG), found(3, OWN, YOUNG)) == []


def test_an_epoch_of_this_process_that_it_does_not_serve_goes() -> None:
    assert gone(found(1, OWN)) == [1]


def test_of_a_served_stream_the_newest_by_order_stay_and_never_one_that_a_lease_refers_to() -> None:
    epochs = [found(n) for n in (10**18, 5, 7, 10**9)]
    assert gone(*epochs, served={(1, 10**18)}) == [5, 7]
    assert gone(*epochs, served={(1, 5)}) == [7]
    assert gone(*epochs, served={(1, 5)}, keep=0) == [10**18, 7, 10**9]


def test_streams_are_counted_apart() -> None:
    assert gone(found(1), found(2, stream_id=2), found(3), found(4), served={(1, 4)}) == [1, 2]


def test_a_folder_without_a_readable_superblock_must_be_older() -> None:
    assert gone(found(1, None, OLD), found(2, None, UNREADABLE_MIN_AGE_NS + 1)) == [2]


def test_left_behind_is_what_dead_processes_made_and_what_nobody_finished_before_this_driver_began() -> None:
    here = [
        found(1, DEAD, age_ns=0),
        found(2, os.getpid(), age_ns=0),
        found(3, ALIVE, age_ns=OLD),
        found(4, None, age_ns=1001),
        found(5, None, age_ns=1000),
    ]
    left = left_behind(here, os.getpid(), 1000, {DEAD: False, ALIVE: True, os.getpid(): True})
    assert [each.epoch for each in left] == [1, 2, 4]


def test_a_user_name_cannot_leave_the_base() -> None:
    for name in ("..", "../../etc", "a/b", "a\0b", "ä.b"):
        cleaned = clean_user(name)
        assert "/" not in cleaned
        assert "." not in cleaned
        assert cleaned.isascii()


# --- on disk ------------------------------------------------------------------------------------------------

PROFILE = StreamProfile(2, (PoolShape(1, 64),))


def order(epoch: int, stream_id: int = 7, *, is_placeholder: bool = False) -> Provision:
    return Provision(
        stream_id=stream_id,
        epoch=epoch,
        profile=PROFILE,
        require_hugepages=False,
        is_placeholder=is_placeholder,
        prefault=False,
    )


@pytest.fixture
def folders(tmp_path: Path) -> RegionFolders:
    return RegionFolders(tmp_path.resolve() / "base", "default", user="a.b")


def store_at(folders: RegionFolders, now_ns: int | None = None) -> RegionStore:
    clock = ManualClock(monotonic_ns() if now_ns is None else now_ns)
    return RegionStore(folders, NativeMaker(allowed=folders.base.parent), clock=clock)


def test_folders_are_named_by_user_namespace_stream_and_epoch(folders: RegionFolders) -> None:
    made = store_at(folders).provision(order(99))
    assert isinstance(made, Provisioned)
    root = f"{folders.base}/tensorpool-a_b/default/7/99"
    assert made.regions.header_uri == f"shm:file?path={root}/header.ring"
    assert [pool.uri for pool in made.regions.pools] == [f"shm:file?path={root}/1.pool"]
    assert sorted(path.name for path in Path(root).iterdir()) == ["1.pool", "header.ring"]


def test_a_restart_counts_from_above_everything_on_disk_whatever_it_is(folders: RegionFolders) -> None:
    store = store_at(folders)
    store.provision(order(50))
    store.provision(order(2**60))
    (folders.root / "7" / "70").mkdir()
    for other in ("007", "x", "-1", "99999999999999999999999"):
        (folders.root / "7" / other).mkdir()
    (folders.root / "8").mkdir()
    (folders.root / "9").write_text("")
    assert store_at(folders).floors() == {7: 2**60}


def test_what_a_dead_driver_left_is_collected_by_name_and_nothing_else(folders: RegionFolders) -> None:
    """Our own number on regions that this store does not know: as after a restart in a container."""
    left = store_at(folders)
    left.provision(order(50))
    left.provision(order(60))
    left.provision(order(70, 8))
    foreign = folders.of(7, 50) / "notes.txt"
    foreign.write_text("mine")
    later = store_at(folders, monotonic_ns() + 10**12)
    later.provision(order(80, 8))
    assert later.collect([(8, 80)], keep=2, min_age_ns=10**9) == 1
    assert not folders.of(7, 60).exists()
    assert list(folders.of(7, 50).iterdir()) == [foreign]
    assert folders.of(8, 70).exists()


def test_closed_what_a_driver_killed_a_moment_ago_left_goes_too_and_what_lives_stays(
    folders: RegionFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store_at(folders)
    before.provision(order(5))
    before.close(remove=False)
    (folders.of(7, 6)).mkdir(parents=True)
    store = store_at(folders)
    monkeypatch.setattr("os.getpid", lambda: DEAD)
    monkeypatch.setattr("framegate.driver.regions.process_exists", lambda pid: pid != DEAD)
    store.close(remove=True)
    assert folders.of(7, 5).exists()
    monkeypatch.setattr("framegate.driver.regions.process_exists", lambda pid: False)
    store.close(remove=True)
    assert not folders.of(7, 5).exists()
    assert not folders.of(7, 6).exists()


def test_what_is_fresh_or_mapped_by_this_store_is_not_collected(folders: RegionFolders) -> None:
    left = store_at(folders)
    left.provision(order(50))
    assert left.collect([], keep=0, min_age_ns=0) == 0
    young = store_at(folders)
    assert young.collect([], keep=0, min_age_ns=10**15) == 0
    assert folders.of(7, 50).exists()


def test_an_activity_in_the_future_is_of_a_boot_before_and_is_stale(folders: RegionFolders) -> None:
    store_at(folders, 10**18).provision(order(50))
    assert store_at(folders, 10**9).collect([], keep=2, min_age_ns=10**10) == 1


def test_a_link_in_place_of_a_stream_or_an_epoch_is_not_followed(folders: RegionFolders, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "50").mkdir(parents=True)
    (elsewhere / "50" / "header.ring").write_bytes(b"precious")
    folders.make(folders.root / "7")
    (folders.root / "6").symlink_to(elsewhere)
    (folders.root / "7" / "50").symlink_to(elsewhere / "50")
    store = store_at(folders)
    assert store.floors() == {}
    store.collect([], keep=0, min_age_ns=-1)
    assert (elsewhere / "50" / "header.ring").read_bytes() == b"precious"


def test_the_mark_of_an_ended_producer_goes_with_its_epoch(tmp_path: Path) -> None:
    folders = RegionFolders(tmp_path, "default")
    folder = folders.of(7, 99)
    folders.make(folder)
    (folder / "header.ring").touch()
    mark_ended(str(folder), 99, after_seq=3)
    assert is_marked_ended(str(folder), 99) == (True, 3)
    (folder / "somebody's.txt").touch()

    assert not folders.remove_epoch(7, 99), "what is not ours keeps its folder"
    assert [path.name for path in folder.iterdir()] == ["somebody's.txt"]
