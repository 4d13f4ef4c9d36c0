# SPDX-License-Identifier: Apache-2.0
"""Assembles the lease driver from its configuration: the claimed directory, the store, the authority and the agent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.driver.agent import DriverStreams, LeaseDriverAgent
from framegate.driver.checkpoint_agent import CheckpointAgent
from framegate.driver.configuration import DriverConfig
from framegate.driver.driver_lock import DriverLock
from framegate.driver.epochs import EpochCounter
from framegate.driver.lease_rules import LeaseRules, rules_of
from framegate.driver.leases import LeaseAuthority
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import NativeMaker, RegionStore
from framegate.schema.errors import ConflictingKeys, HugepagesMissing, WrongType
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.transport.interface import Transport

TURN_WAIT_NS: Final = 5_000_000
"""How long a turn waits for a message, and thus how late a signal is handled at most."""
_URI_PATH: Final = re.compile(r"/[!->@-{}~]*")


@dataclass(frozen=True, slots=True)
class ClaimedDirectory:
    """A base directory and namespace that only this process serves."""

    store: RegionStore
    rules: LeaseRules


@contextmanager
def claimed(config: DriverConfig) -> Iterator[ClaimedDirectory]:
    """Claim the base directory. At the end, remove everything that was made in it, if so configured."""
    folders = RegionFolders(_allowed_base(config), config.shm.namespace, config.shm.mode)
    try:
        with DriverLock(folders):
            store, rules = _store(folders, config)
            try:
                if config.policies.epoch_gc_enabled and config.policies.epoch_gc_on_startup:
                    store.collect((), keep=rules.epoch_gc_keep, min_age_ns=rules.epoch_gc_min_age_ns)
                yield ClaimedDirectory(store, rules)
            finally:
                store.close(remove=config.policies.cleanup_shm_on_exit)
    finally:
        # This comes after the lock file is removed from the folders. Folders that hold anything stay.
        folders.remove_made()


def _allowed_base(config: DriverConfig) -> Path:
    """The base directory in canonical form, as it is written in every URI (PROTOCOL 6.3)."""
    base = Path(os.path.realpath(config.shm.base_dir))
    if not _URI_PATH.fullmatch(str(base)):
        wanted = "a path of visible ASCII without space, ? and |"
        raise WrongType(f"wanted {wanted} after links are resolved", key="shm.base_dir", wanted=wanted, found=str(base))
    allowed = [Path(os.path.realpath(each)) for each in config.shm.allowed_base_dirs]
    if not any(base.is_relative_to(each) for each in allowed):
        raise ConflictingKeys(
            "the base directory lies in none of the allowed ones",
            key="shm.base_dir",
            other="shm.allowed_base_dirs",
            base_dir=base,
        )
    return base


def _store(folders: RegionFolders, config: DriverConfig) -> tuple[RegionStore, LeaseRules]:
    has_hugepages = is_on_hugepages(folders.root)
    if config.shm.require_hugepages and not has_hugepages:
        raise HugepagesMissing("the base directory is not on huge pages", base_dir=folders.base)
    maker = NativeMaker(
        allowed=folders.base, mode=config.shm.mode, lock=config.policies.mlock_shm, has_hugepages=has_hugepages
    )
    store = RegionStore(folders, maker, has_hugepages=has_hugepages)
    return store, rules_of(config, has_hugepages=has_hugepages)


def is_on_hugepages(folder: Path) -> bool:
    """Whether the folder is on a file system of huge pages."""
    device = folder.stat().st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == name:
            return after.split()[0] == "hugetlbfs"
    return False


def lease_driver(
    transport: Transport, config: DriverConfig, directory: ClaimedDirectory, checkpoints: CheckpointAgent | None = None
) -> LeaseDriverAgent:
    """Make the agent. Its epochs begin above all that are in the directory, whatever process made them."""
    # Lease ids begin at the present time, so ids of an earlier driver name no lease of this one.
    epochs = EpochCounter(directory.store.floors(), ahead_ns=realtime_ns() - monotonic_ns())
    authority = LeaseAuthority(directory.rules, epochs, first_lease_id=monotonic_ns())
    streams = DriverStreams.of(config.driver)
    return LeaseDriverAgent(
        transport, streams, authority, directory.store, checkpoints=checkpoints, wait_ns=TURN_WAIT_NS
    )
