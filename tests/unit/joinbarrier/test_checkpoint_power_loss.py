# SPDX-License-Identifier: Apache-2.0
"""B18: the power is lost at each step of writing checkpoints, and what was not synced came to the disk in any order.

After each: every checkpoint that is there is whole, one that was said to be complete is there, the newest whole one is
the last or the one before it, no id is given out twice, and the next life of the coordinator goes on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from framegate.joinbarrier.checkpoint.coordinator.actions import Allocate, Allocated, Finish, IssuedIds, Stored
from framegate.joinbarrier.checkpoint.coordinator.store import CoordinatorStore
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Disk, LocalFiles
from framegate.schema.errors import CheckpointDamaged, CheckpointMissing

from tests.unit.joinbarrier.power_loss import Image, Killed, RecordedDisk, images, put_back, worst

OPERATORS: Final = ("join", "lidar")
LATE: Final = [b"a frame and its payload", b"another"]


class NoSync(Disk):
    """For what is done after the power is back: it is not lost again."""

    def sync_file(self, descriptor: int) -> None: ...
    def sync_folder(self, folder: Path) -> None: ...


@dataclass
class Life:
    """A coordinator and its operators on one disk; notes after which step it had said what."""

    place: Path
    disk: RecordedDisk | NoSync
    files: Callable[[Path, Disk], LocalFiles] = LocalFiles
    told: list[tuple[int, str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = CoordinatorStore(str(self.place), "default", 1, self.files(self.place, self.disk))
        self.issued = IssuedIds(0, 0)

    def _tell(self, what: str, number: int) -> None:
        if isinstance(self.disk, RecordedDisk):
            self.told.append((len(self.disk.steps), what, number))

    def begin(self) -> None:
        self.issued, _ = self.store.begin_epoch()
        self._tell("epoch", self.issued.epoch)
        self.store.tidy(self.issued.last_checkpoint_id + 1)

    def checkpoint(self) -> int:
        """One, from its id to its manifest, and what is pruned for it."""
        checkpoint_id, epoch = self.issued.last_checkpoint_id + 1, self.issued.epoch
        self.issued = IssuedIds(checkpoint_id, epoch)
        assert self.store.allocate(Allocate(self.issued)) == Allocated(checkpoint_id)
        self._tell("allocated", checkpoint_id)
        self._tell("begun", checkpoint_id)
        sizes = tuple((name, self._operate(checkpoint_id, name)) for name in OPERATORS)
        stored = self.store.finish(
            Finish(checkpoint_id=checkpoint_id, epoch=epoch, is_asked_unaligned=True, acknowledged=sizes)
        )
        assert isinstance(stored, Stored), stored
        self._tell("complete", checkpoint_id)
        return checkpoint_id

    def _operate(self, checkpoint_id: int, name: str) -> int:
        store = CheckpointStore(self.place, self.files(self.place, self.disk))
        state = store.write_state(checkpoint_id, name, state_of(checkpoint_id, name))
        late = (store.write_inflight(checkpoint_id, name, 1, LATE),) if name == "join" else ()
        part = OperatorPart(state=state, inflight=late, is_unaligned=bool(late))
        store.write_part(checkpoint_id, part)
        return part.size_bytes

    def highest(self, what: str, steps: int) -> int:
        """The highest number that had been told when so many steps were done; 0: none."""
        return max((number for at, found, number in self.told if found == what and at <= steps), default=0)


def state_of(checkpoint_id: int, name: str) -> bytes:
    return f"{name} at {checkpoint_id}".encode()


def check(place: Path, image: Image, *, complete: int, allocated: int, epoch: int) -> None:
    """What must hold of a disk where these had been told before the power was lost."""
    shutil.rmtree(place, ignore_errors=True)
    put_back(place, image)
    store = CheckpointStore(place)
    for checkpoint_id in store.ids():
        assert not list(store.problems(checkpoint_id)), checkpoint_id
    try:
        latest = store.latest_whole()
    except CheckpointMissing:
        assert complete == 0
    else:
        # The one that was being written may be there before anybody could be told.
        assert latest.checkpoint_id in (complete, allocated)
        restored = {name: store.restore(latest, name) for name in OPERATORS}
        assert {name: each.state for name, each in restored.items()} == {
            name: state_of(latest.checkpoint_id, name) for name in OPERATORS
        }
        assert restored["join"].inflight == {1: LATE}
    _check_next_life(place, allocated=allocated, epoch=epoch)


def _check_next_life(place: Path, *, allocated: int, epoch: int) -> None:
    life = Life(place, NoSync())
    life.begin()
    assert life.issued.last_checkpoint_id >= allocated
    assert life.issued.epoch > epoch
    next_id = life.checkpoint()
    assert CheckpointStore(place).ids() == [next_id]


def lose_power_everywhere(tmp_path: Path, life: Life) -> int:
    """Two checkpoints, the first pruned for the second; the number of different disks that were checked."""
    life.begin()
    for _ in range(2):
        life.checkpoint()
    assert isinstance(life.disk, RecordedDisk)
    steps, checked = life.disk.steps, 0
    for end in range(len(steps) + 1):
        told = {what: life.highest(what, end) for what in ("complete", "allocated", "epoch")}
        for image in images(tmp_path, steps[:end]):
            check(tmp_path / "after", _below(image, "store"), **told)
            checked += 1
    return checked


def _below(image: Image, folder: str) -> Image:
    return tuple((path.removeprefix(f"{folder}/"), content) for path, content in image if path != folder)


def test_power_lost_at_any_step_leaves_whole_checkpoints_and_every_one_that_was_told(tmp_path: Path) -> None:
    checked = lose_power_everywhere(tmp_path, Life(tmp_path / "store", RecordedDisk()))
    print(f"{checked} disks")
    assert checked > 300


@pytest.mark.parametrize("without", ["sync_file", "sync_folder"])
def test_a_store_that_leaves_a_sync_out_is_found_out(tmp_path: Path, without: str) -> None:
    with pytest.raises((AssertionError, CheckpointDamaged)):
        lose_power_everywhere(tmp_path, Life(tmp_path / "store", RecordedDisk(without)))


class _InPlace(LocalFiles):
    """The original reading: a manifest is a file like the others."""

    def publish(self, path: str, content: bytes) -> None:
        self.write(path, content)


def test_a_manifest_that_is_written_in_its_place_is_found_out(tmp_path: Path) -> None:
    with pytest.raises((AssertionError, CheckpointDamaged)):
        lose_power_everywhere(tmp_path, Life(tmp_path / "store", RecordedDisk(), _InPlace))


def test_a_checkpoint_lasts_whichever_step_the_life_before_was_killed_at(tmp_path: Path) -> None:
    """A folder that the killed one made, and had no time to sync, is synced by whoever builds on it."""
    whole = Life(tmp_path / "whole", RecordedDisk())
    whole.begin()
    whole.checkpoint()
    assert isinstance(whole.disk, RecordedDisk)
    for kill_after in range(len(whole.disk.steps)):
        root = tmp_path / f"killed-{kill_after}"
        root.mkdir()
        disk = RecordedDisk(kill_after=kill_after)
        with pytest.raises(Killed):
            _one_life(root / "store", disk)
        next_id = _one_life(root / "store", disk)
        put_back(root / "after", _below(worst(root, disk.steps), "store"))
        store = CheckpointStore(root / "after")
        assert store.latest_whole().checkpoint_id == next_id, kill_after


def _one_life(place: Path, disk: RecordedDisk) -> int:
    life = Life(place, disk)
    life.begin()
    return life.checkpoint()


def test_what_lasts_is_asked_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps above are those of a recorded disk; the real one calls fsync for the file and for its folder."""
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    (tmp_path / "store").mkdir()
    LocalFiles(tmp_path / "store").publish("1/manifest.json", b"{}")
    temporary = [each for each in synced if each.endswith(".tmp")]
    assert len(temporary) == 1
    assert synced.index(temporary[0]) < len(synced) - 1
    assert synced[-1] == str(tmp_path / "store" / "1")
