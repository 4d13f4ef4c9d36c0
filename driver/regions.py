# SPDX-License-Identifier: Apache-2.0
"""The driver's region files: made, kept alive, retired and collected. Here the lease authority meets the disk.

The native core makes whole regions, with all their memory. A placeholder is the epoch of a stream that nobody writes
to. It has the same files with the same superblocks, but the pools have no memory behind those. The ring does have its
memory, because a reader may look at any slot of it, and a missing page would be a SIGBUS on a full file system. A
payload is read only after its slot was found committed, and no slot is.

Making gigabytes of memory takes seconds. A thread of its own does it, so that the driver goes on reading messages.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from framegate.driver.epochs import FoundEpoch, Keeping, collectable, highest, left_behind
from framegate.driver.lease_actions import (
    PoolRegion,
    Provision,
    Provisioned,
    ProvisionFailed,
    ProvisionProblem,
    Regions,
)
from framegate.driver.region_folders import RING, RegionFolders
from framegate.schema.console.reporting import numbered_error
from framegate.schema.errors import FramegateError, NoRoom, RegionRefused
from framegate.schema.wire import RegionType, ShmRegionSuperblock
from framegate.shmpool.client.stream_names import StreamNames
from framegate.shmpool.clock import Clock, monotonic_ns, realtime_ns
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION, MAGIC, SLOT_BYTES, SUPERBLOCK_BYTES
from framegate.shmpool.marks.ended import last_end, mark_former
from framegate.shmpool.processes import process_exists

from framegate._native import PoolRegions, region_mark

LARGE_BYTES: Final = 64 << 20
"""Regions of this size or more are made in a thread of their own; smaller ones take a few hundredths of a second."""
_SAID_FROM_BYTES: Final = 1 << 30
_log = logging.getLogger(__name__)


class MappedRegions(Protocol):
    """The files of one epoch, mapped."""

    def refresh_activity(self, now_ns: int) -> None: ...
    def close(self) -> None: ...


class RegionMaker(Protocol):
    """Makes the files of one epoch in an empty folder. If it raises, nothing of them is left."""

    def make(self, folder: Path, order: Provision, now_ns: int) -> MappedRegions: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeMaker:
    """The maker that the driver uses; tests have others."""

    allowed: Path
    mode: int = 0o600
    lock: bool = False
    has_hugepages: bool = False

    def make(self, folder: Path, order: Provision, now_ns: int) -> MappedRegions:
        """Make whole regions, or a placeholder."""
        # On huge pages, holes and memory cannot be told apart, so everything is made whole there.
        if order.is_placeholder and not self.has_hugepages:
            return self._make_placeholder(folder, order, now_ns)
        return PoolRegions.create(
            str(folder),
            stream_id=order.stream_id,
            epoch=order.epoch,
            nslots=order.profile.header_nslots,
            pools=[(pool.pool_id, pool.stride_bytes) for pool in order.profile.pools],
            mode=self.mode,
            prefault=order.prefault,
            require_hugepages=order.require_hugepages,
            lock=self.lock,
            now_ns=now_ns,
        )

    def _make_placeholder(self, folder: Path, order: Provision, now_ns: int) -> MappedRegions:
        slots = order.profile.header_nslots
        ring_bytes = SUPERBLOCK_BYTES + SLOT_BYTES * slots
        _write(folder / RING, self.mode, _superblock(order, 0, 0, now_ns), ring_bytes, has_memory=True)
        pools = []
        for pool in order.profile.pools:
            path, stride = folder / f"{pool.pool_id}.pool", pool.stride_bytes
            pool_bytes = SUPERBLOCK_BYTES + stride * slots
            _write(path, self.mode, _superblock(order, pool.pool_id, stride, now_ns), pool_bytes, has_memory=False)
            pools.append((pool.pool_id, stride, str(path)))
        return PoolRegions.open(
            str(folder / RING),
            stream_id=order.stream_id,
            epoch=order.epoch,
            nslots=slots,
            pools=pools,
            allowed=[str(self.allowed)],
            writable=True,
            require_hugepages=False,
            prefault=False,
        )


def _superblock(order: Provision, pool_id: int, stride_bytes: int, now_ns: int) -> bytes:
    return ShmRegionSuperblock(
        magic=MAGIC,
        layout_version=LAYOUT_VERSION,
        epoch=order.epoch,
        stream_id=order.stream_id,
        region_type=RegionType.PAYLOAD_POOL if pool_id else RegionType.HEADER_RING,
        pool_id=pool_id,
        nslots=order.profile.header_nslots,
        slot_bytes=stride_bytes if pool_id else SLOT_BYTES,
        stride_bytes=stride_bytes,
        pid=os.getpid(),
        start_timestamp_ns=now_ns,
        activity_timestamp_ns=now_ns,
    ).encode_body()


def _write(path: Path, mode: int, superblock: bytes, length: int, *, has_memory: bool) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        # The umask must not remove permissions that the configuration gives.
        os.fchmod(descriptor, mode)
        # It is written, not mapped: if there is no space this is an error and not a signal.
        os.write(descriptor, superblock)
        os.ftruncate(descriptor, length)
        if has_memory:
            os.posix_fallocate(descriptor, 0, length)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RegionStore:
    """The regions of one driver."""

    def __init__(
        self, folders: RegionFolders, maker: RegionMaker, *, has_hugepages: bool = False, clock: Clock = monotonic_ns
    ) -> None:
        self.folders = folders
        self.counts = Counter[str]()
        self._maker = maker
        self._has_hugepages = has_hugepages
        self._clock = clock
        self._mapped: dict[tuple[int, int], MappedRegions] = {}
        self._aside = ThreadPoolExecutor(1, "framegate-regions")
        self._making: dict[tuple[int, int], tuple[Provision, Future[MappedRegions]]] = {}
        self._ends: dict[int, tuple[int, int | None]] = {}
        """For streams whose last producer's epoch was removed: the epoch that ended, and its last sequence."""
        self._began_ns = clock()

    def __len__(self) -> int:
        """How many epochs have files of this driver."""
        return len(self._mapped)

    def provision(self, order: Provision) -> Provisioned | ProvisionFailed | None:
        """Make the regions that were ordered, or none of them. None if they are large: see ``finished``."""
        folder, now_ns, large = self.folders.of(order.stream_id, order.epoch), self._clock(), _bytes_of(order)
        try:
            self.folders.make(folder)
        except (FramegateError, OSError) as failure:
            return self._failed(order, failure)
        if large < LARGE_BYTES or order.is_placeholder:
            return self._taken(order, lambda: self._maker.make(folder, order, now_ns))
        level = logging.WARNING if large >= _SAID_FROM_BYTES else logging.INFO
        _log.log(level, "stream %s: makes regions of %.1f GiB", self._text(order.stream_id), large / (1 << 30))
        making = self._aside.submit(self._maker.make, folder, order, now_ns)
        self._making[order.stream_id, order.epoch] = order, making
        return None

    def finished(self) -> list[Provisioned | ProvisionFailed]:
        """The results for large regions since the last call."""
        done = [(order, making) for order, making in self._making.values() if making.done()]
        return [self._finish(order, making) for order, making in done]

    def _finish(self, order: Provision, making: Future[MappedRegions]) -> Provisioned | ProvisionFailed:
        """Wait for the result of large regions."""
        try:
            return self._taken(order, making.result)
        finally:
            del self._making[order.stream_id, order.epoch]

    def _taken(self, order: Provision, make: Callable[[], MappedRegions]) -> Provisioned | ProvisionFailed:
        try:
            mapped = make()
        except (FramegateError, OSError) as failure:
            return self._failed(order, failure)
        self._mapped[order.stream_id, order.epoch] = mapped
        mapped.refresh_activity(self._clock())
        folder = self.folders.of(order.stream_id, order.epoch)
        self._leave_end(folder, order)
        return Provisioned(self._described(folder, order))

    def _failed(self, order: Provision, failure: FramegateError | OSError) -> ProvisionFailed:
        self._remove(order.stream_id, order.epoch)
        error = numbered_error(failure)
        _log.warning("stream %s epoch %d: %s", self._text(order.stream_id), order.epoch, error)
        reason = str(error).partition("\n")[0]
        return ProvisionFailed(order.stream_id, order.epoch, _problem(error, order), reason)

    def _leave_end(self, folder: Path, order: Provision) -> None:
        """Record in a placeholder's folder how the epoch before it ended, because nobody will write into this one."""
        end = self._ends.pop(order.stream_id, None)
        if not order.is_placeholder:
            return
        before = self.folders.before(order.stream_id, order.epoch)
        if before is not None:
            end = last_end(str(self.folders.of(order.stream_id, before)), before) or end
        if end is not None:
            mark_former(str(folder), *end)

    def refresh(self, stream_id: int, epoch: int, now_ns: int) -> None:
        """Refresh the activity of an epoch."""
        if (mapped := self._mapped.get((stream_id, epoch))) is not None:
            mapped.refresh_activity(now_ns)

    def retire(self, stream_id: int, epoch: int) -> None:
        """Unmap and unlink an epoch. Readers that have it mapped keep their mapping."""
        if (mapped := self._mapped.pop((stream_id, epoch), None)) is not None:
            mapped.close()
            end = last_end(str(self.folders.of(stream_id, epoch)), epoch)
            if end is not None:
                self._ends[stream_id] = max(end, self._ends.get(stream_id, end), key=_epoch_of)
        self._remove(stream_id, epoch)

    def floors(self) -> dict[int, int]:
        """The highest epoch of each stream on disk; new ones must be higher."""
        return highest(self.folders.found(region_mark, monotonic_ns=self._clock(), realtime_ns=realtime_ns()))

    def collect(self, served: Iterable[tuple[int, int]], *, keep: int, min_age_ns: int) -> int:
        """Remove the epochs that dead processes left. Returns how many."""
        found, is_alive = self._found()
        keeping = Keeping(
            keep=keep,
            min_age_ns=min_age_ns,
            own_pid=os.getpid(),
            served=frozenset(served) | self._mapped.keys() | self._making.keys(),
        )
        gone = collectable(found, keeping, is_alive)
        removed = sum(self._remove(each.stream_id, each.epoch) for each in gone)
        self.counts["epochs_collected"] += removed
        return removed

    def close(self, *, remove: bool) -> None:
        """Close everything. With ``remove``, also remove the files, those that a killed driver before this one left,
        and the folders that were made for them. This waits for regions that are being made."""
        for order, making in list(self._making.values()):
            self._finish(order, making)
        self._aside.shutdown()
        for stream_id, epoch in list(self._mapped):
            if remove:
                self.retire(stream_id, epoch)
            else:
                self._mapped.pop((stream_id, epoch)).close()
        if remove:
            found, is_alive = self._found()
            for each in left_behind(found, os.getpid(), self._clock() - self._began_ns, is_alive):
                self._remove(each.stream_id, each.epoch)

    def _found(self) -> tuple[list[FoundEpoch], dict[int, bool]]:
        """The epochs on disk, and which of their processes run."""
        found = list(self.folders.found(region_mark, monotonic_ns=self._clock(), realtime_ns=realtime_ns()))
        return found, {pid: process_exists(pid) for pid in {each.pid for each in found if each.pid is not None}}

    def _text(self, stream_id: int) -> str:
        return StreamNames(self.folders.base).text(stream_id)

    def _remove(self, stream_id: int, epoch: int) -> bool:
        try:
            is_gone = self.folders.remove_epoch(stream_id, epoch)
        except OSError as failure:
            _log.warning("stream %s epoch %d cannot be removed: %s", self._text(stream_id), epoch, failure)
            is_gone = False
        self.counts["epochs_removed" if is_gone else "removals_failed"] += 1
        return is_gone

    def _described(self, folder: Path, order: Provision) -> Regions:
        pools = tuple(
            PoolRegion(pool.pool_id, pool.stride_bytes, self._uri(folder / f"{pool.pool_id}.pool"))
            for pool in order.profile.pools
        )
        return Regions(
            stream_id=order.stream_id,
            epoch=order.epoch,
            header_nslots=order.profile.header_nslots,
            header_uri=self._uri(folder / RING),
            pools=pools,
        )

    def _uri(self, path: Path) -> str:
        return f"shm:file?path={path}" + ("|require_hugepages=true" if self._has_hugepages else "")


def _bytes_of(order: Provision) -> int:
    return order.profile.header_nslots * (SLOT_BYTES + sum(pool.stride_bytes for pool in order.profile.pools))


def _epoch_of(end: tuple[int, int | None]) -> int:
    return end[0]


def _problem(error: FramegateError, order: Provision) -> ProvisionProblem:
    if isinstance(error, NoRoom):
        return ProvisionProblem.NO_ROOM
    if order.require_hugepages and isinstance(error, RegionRefused):
        return ProvisionProblem.NO_HUGEPAGES
    return ProvisionProblem.OTHER
