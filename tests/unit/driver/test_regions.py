# SPDX-License-Identifier: Apache-2.0
"""Region files of the driver: their bytes, their modes, and that nothing is left of what failed or ended."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from framegate.driver.driver_lock import DriverLock
from framegate.driver.lease_actions import (
    PoolShape,
    Provision,
    Provisioned,
    ProvisionFailed,
    ProvisionProblem,
    StreamProfile,
)
from framegate.driver.lease_service import is_on_hugepages
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import MappedRegions, NativeMaker, RegionStore
from framegate.schema.errors import LeaseDriverPresent, NoPermission, RegionRefused
from framegate.schema.wire import RegionType, ShmRegionSuperblock
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.layout.region_numbers import MAGIC
from framegate.shmpool.marks.continued import mark_continued
from framegate.shmpool.marks.ended import former_end, mark_ended
from framegate.shmpool.producer.command_word import NAME

from tests.unit.driver.test_epochs import order


@pytest.fixture
def folders(tmp_path: Path) -> RegionFolders:
    return RegionFolders(tmp_path.resolve() / "base", "default")


def store_of(folders: RegionFolders, mode: int = 0o600) -> RegionStore:
    folders.mode = mode
    return RegionStore(folders, NativeMaker(allowed=folders.base.parent, mode=mode), clock=ManualClock(1234))


def superblocks(folder: Path) -> dict[str, ShmRegionSuperblock]:
    return {path.name: ShmRegionSuperblock.decode_body(path.read_bytes()[:64]) for path in folder.iterdir()}


@pytest.mark.parametrize("is_placeholder", [False, True])
def test_files_have_the_superblocks_and_the_length_of_the_protocol(
    folders: RegionFolders, is_placeholder: bool
) -> None:
    store_of(folders).provision(order(99, is_placeholder=is_placeholder))
    folder = folders.of(7, 99)
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == {
        "header.ring": 64 + 2 * 256,
        "1.pool": 64 + 2 * 64,
    }
    ring = ShmRegionSuperblock(
        magic=MAGIC,
        layout_version=1,
        epoch=99,
        stream_id=7,
        region_type=RegionType.HEADER_RING,
        pool_id=0,
        nslots=2,
        slot_bytes=256,
        stride_bytes=0,
        pid=os.getpid(),
        start_timestamp_ns=1234,
        activity_timestamp_ns=1234,
    )
    pool = replace(ring, region_type=RegionType.PAYLOAD_POOL, pool_id=1, slot_bytes=64, stride_bytes=64)
    assert superblocks(folder) == {"header.ring": ring, "1.pool": pool}


def test_a_placeholder_has_the_length_of_the_whole_and_the_memory_of_its_ring_alone() -> None:
    with_memory = Path(f"/dev/shm/framegate-unit-{os.getpid()}")  # noqa: S108  (the point of the test)
    folders = RegionFolders(with_memory, "default")
    store = store_of(folders)
    large = Provision(
        stream_id=7,
        epoch=1,
        profile=StreamProfile(128, (PoolShape(1, 1 << 20),)),
        require_hugepages=False,
        is_placeholder=True,
        prefault=True,
    )
    try:
        assert isinstance(store.provision(large), Provisioned)
        ring, pool = (folders.of(7, 1) / "header.ring").stat(), (folders.of(7, 1) / "1.pool").stat()
        assert ring.st_blocks * 512 >= ring.st_size == 64 + 128 * 256
        assert (pool.st_size, pool.st_blocks * 512) == (64 + 128 * (1 << 20), 4096)
    finally:
        store.close(remove=True)
        folders.remove_made()
    assert not with_memory.exists()


@pytest.mark.parametrize("is_placeholder", [False, True])
def test_activity_is_refreshed_in_every_file(folders: RegionFolders, is_placeholder: bool) -> None:
    store = store_of(folders)
    store.provision(order(99, is_placeholder=is_placeholder))
    store.refresh(7, 99, 5555)
    store.refresh(7, 98, 6666)
    found = superblocks(folders.of(7, 99)).values()
    assert {block.activity_timestamp_ns for block in found} == {5555}
    assert {block.start_timestamp_ns for block in found} == {1234}


@pytest.mark.parametrize(("mode", "folder_mode"), [(0o600, 0o700), (0o660, 0o2770)])
@pytest.mark.parametrize("is_placeholder", [False, True])
def test_modes_are_those_configured_whatever_the_umask(
    folders: RegionFolders, mode: int, folder_mode: int, is_placeholder: bool
) -> None:
    before = os.umask(0o077)
    try:
        store_of(folders, mode).provision(order(99, is_placeholder=is_placeholder))
    finally:
        os.umask(before)
    folder = folders.of(7, 99)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {mode}
    above = [folder, folder.parent, folders.root, folders.base]
    assert {stat.S_IMODE(path.stat().st_mode) for path in above} == {folder_mode}


def test_retired_the_files_and_empty_folders_are_gone_and_the_rest_stays(folders: RegionFolders) -> None:
    store = store_of(folders)
    store.provision(order(98))
    store.provision(order(99))
    store.retire(7, 98)
    store.retire(7, 98)
    assert (folders.of(7, 98).exists(), folders.of(7, 99).exists(), len(store)) == (False, True, 1)
    store.retire(7, 99)
    assert not folders.of(7, 99).parent.exists()


def test_the_marks_of_a_producer_go_with_their_epoch(folders: RegionFolders) -> None:
    store = store_of(folders)
    store.provision(order(98))
    mark_ended(str(folders.of(7, 98)), 98, 3)
    mark_continued(str(folders.of(7, 98)), 98)
    # One that was being written when its producer was killed.
    (folders.of(7, 98) / "continued.4711").write_text("{")
    store.retire(7, 98)
    assert not folders.of(7, 98).parent.exists()


@pytest.mark.parametrize("is_retired", [False, True], ids=["beside it", "instead of it"])
def test_the_end_of_the_epoch_before_is_left_in_an_epoch_without_a_producer(
    folders: RegionFolders, is_retired: bool
) -> None:
    store = store_of(folders)
    store.provision(order(99))
    mark_ended(str(folders.of(7, 99)), 99, 41)
    if is_retired:
        store.retire(7, 99)
    store.provision(order(100, is_placeholder=True))
    assert former_end(str(folders.of(7, 100)), 100) == (99, 41)
    store.provision(order(101, is_placeholder=True))
    assert former_end(str(folders.of(7, 101)), 101) == (99, 41), "nobody has written since"
    store.provision(order(102))
    assert former_end(str(folders.of(7, 102)), 102) is None
    for epoch in (100, 101, 102):
        store.retire(7, epoch)
    assert not folders.of(7, 100).exists()


def test_the_command_word_outlives_an_epoch_and_goes_with_the_last(folders: RegionFolders) -> None:
    store = store_of(folders)
    store.provision(order(98))
    store.provision(order(99))
    word = folders.of(7, 98).parent / NAME
    word.write_bytes(b"")
    store.retire(7, 98)
    assert word.exists()
    store.retire(7, 99)
    assert not word.parent.exists()
    # Beside something that is not ours nothing is removed.
    store.provision(order(100))
    (word.parent / "notes").write_text("")
    word.write_bytes(b"")
    store.retire(7, 100)
    assert sorted(path.name for path in word.parent.iterdir()) == [NAME, "notes"]


def test_closed_everything_that_was_made_is_removed_and_nothing_that_was_there(folders: RegionFolders) -> None:
    folders.base.mkdir()
    store = store_of(folders)
    store.provision(order(98))
    store.provision(order(99, 8, is_placeholder=True))
    store.close(remove=True)
    folders.remove_made()
    assert list(folders.base.iterdir()) == []


def test_closed_without_removing_the_regions_stay(folders: RegionFolders) -> None:
    store = store_of(folders)
    store.provision(order(98))
    store.close(remove=False)
    folders.remove_made()
    assert folders.of(7, 98).exists()
    assert store_of(folders).floors() == {7: 98}


class Failing:
    """Leaves half of the files and fails, as a maker must not."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    def make(self, folder: Path, _order: Provision, _now_ns: int) -> MappedRegions:
        (folder / "header.ring").write_bytes(b"half")
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x"), ProvisionProblem.NO_ROOM),
        (OSError(errno.EDQUOT, "quota", "/x"), ProvisionProblem.NO_ROOM),
        (PermissionError(errno.EACCES, "denied", "/x"), ProvisionProblem.OTHER),
        (RegionRefused("a reason"), ProvisionProblem.OTHER),
    ],
)
def test_what_fails_gives_its_reason_and_leaves_nothing(
    folders: RegionFolders, failure: Exception, problem: ProvisionProblem
) -> None:
    folders.base.mkdir()
    store = RegionStore(folders, Failing(failure))
    failed = store.provision(order(99))
    assert isinstance(failed, ProvisionFailed)
    assert (failed.stream_id, failed.epoch, failed.problem) == (7, 99, problem)
    assert failed.reason.startswith("[FG-")
    assert "\n" not in failed.reason
    assert (len(store), folders.of(7, 99).parent.exists()) == (0, False)


def test_a_file_in_place_of_a_folder_fails_with_a_reason(folders: RegionFolders) -> None:
    folders.make(folders.root)
    (folders.root / "7").write_text("in the way")
    assert isinstance(store_of(folders).provision(order(99)), ProvisionFailed)
    assert (folders.root / "7").read_text() == "in the way"


def test_a_mode_that_lets_others_in_is_refused_with_a_reason(folders: RegionFolders) -> None:
    failed = store_of(folders, 0o666).provision(order(99))
    assert isinstance(failed, ProvisionFailed)
    assert "666" in failed.reason


def test_a_second_driver_is_refused_with_the_pid_of_the_first_and_may_come_when_that_has_gone(
    folders: RegionFolders,
) -> None:
    other = RegionFolders(folders.base, folders.namespace)
    with DriverLock(folders) as lock:
        with pytest.raises(LeaseDriverPresent) as caught, DriverLock(other):
            pass
        assert caught.value.facts["pid"] == str(os.getpid())
        assert caught.value.exit_code == 3
        assert lock.path.read_text() == f"{os.getpid()}\n"
        with DriverLock(RegionFolders(folders.base, "another")):
            pass
    assert not lock.path.exists()
    with DriverLock(other):
        pass


def test_a_lock_file_that_a_dead_driver_left_holds_nobody_up(folders: RegionFolders) -> None:
    folders.make(folders.root)
    (folders.root / "driver.lock").write_text("999999999\n")
    with DriverLock(folders) as lock:
        assert lock.path.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("base", ["file", "file/below", "/proc/framegate"])
def test_a_place_where_no_folder_can_be_is_told_with_its_path_and_is_no_other_driver(tmp_path: Path, base: str) -> None:
    (tmp_path / "file").touch()
    folders = RegionFolders(tmp_path.resolve() / base, "default")
    with pytest.raises(NoPermission) as told, DriverLock(folders):
        pass
    assert told.value.facts["path"] == str(folders.root)


def test_a_temporary_folder_is_not_on_huge_pages(tmp_path: Path) -> None:
    assert not is_on_hugepages(tmp_path)
