# SPDX-License-Identifier: Apache-2.0
"""``coordinator.json``: the ids that were issued, and in which epoch; on the disk before anybody is told (P14).

The file is replaced as a whole, like a manifest. If it is missing, ids continue above every folder in the store. If it
is damaged, nobody knows which ids are taken, so the coordinator refuses to start.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds
from framegate.joinbarrier.checkpoint.manifest import FORMAT
from framegate.joinbarrier.checkpoint.messages import EPOCH_MAX, U64_MAX
from framegate.joinbarrier.checkpoint.numbers import whole
from framegate.joinbarrier.checkpoint.store_files import LocalFiles, StoreFiles
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer, InvalidValue, StoreFailed, StoreTaken

COORDINATOR: Final = "coordinator.json"
LOCK: Final = "coordinator.lock"
_REMOVE: Final = (
    "Look at the ids in the store and at the agents' summaries, write a higher one into the file, start again."
)


def read_issued_ids(files: StoreFiles, pipeline: str, where: str) -> IssuedIds | None:
    """Read what earlier runs issued; None if there is no file. Raises CheckpointDamaged, StoreTaken."""
    path = f"{where}/{COORDINATOR}"
    try:
        data = files.read(COORDINATOR)
    except FileNotFoundError:
        return None
    except OSError as refused:
        raise StoreFailed(f"{refused.strerror or refused}", store=where, path=COORDINATOR) from refused
    try:
        found = json.loads(data)
        if found["format"] > FORMAT:
            raise CheckpointNewer("a later format", path=path, want=FORMAT, have=found["format"])
        owner = found["pipeline"]
        last_id = whole("last_checkpoint_id", found["last_checkpoint_id"], 0, U64_MAX)
        epoch = whole("epoch", found["epoch"], 0, EPOCH_MAX)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidValue) as broken:
        raise CheckpointDamaged(f"it makes no sense: {broken!r}", path=path, hint=_REMOVE) from None
    if owner != pipeline:
        raise StoreTaken("it is another pipeline's store", store=where, pipeline=pipeline, owner=owner)
    return IssuedIds(last_id, epoch)


def write_issued_ids(files: StoreFiles, pipeline: str, issued: IssuedIds, where: str) -> None:
    """Write what was issued; it is on the disk when this returns. Raises StoreFailed."""
    found: dict[str, Any] = {
        "format": FORMAT,
        "pipeline": pipeline,
        "last_checkpoint_id": issued.last_checkpoint_id,
        "epoch": issued.epoch,
    }
    try:
        files.publish(COORDINATOR, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())
    except OSError as refused:
        raise StoreFailed(f"{refused.strerror or refused}", store=where, path=COORDINATOR) from refused


@contextmanager
def sole_coordinator(files: StoreFiles, where: str) -> Iterator[None]:
    """Keep other processes of this host from coordinating this store; the kernel lifts the lock when this process dies.

    Object stores have no locks. There, the announces of the pipeline reveal a second coordinator.
    """
    if not isinstance(files, LocalFiles):
        yield
        return
    path = files.root / LOCK
    try:
        files.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _locked(path)
    except BlockingIOError:
        raise StoreTaken("another process coordinates it", store=where, lock=path) from None
    except OSError as refused:
        raise StoreFailed(f"{refused.strerror or refused}", store=where, path=LOCK) from refused
    try:
        yield
    finally:
        # The file stays: removing a lock file may remove the one that another process has just locked.
        os.close(descriptor)


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
