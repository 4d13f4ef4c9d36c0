# SPDX-License-Identifier: Apache-2.0
"""``framegate checkpoint ls``, ``show`` and ``verify``: print what a store holds, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, Final, TypeVar

from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.console.quantities import NONE, byte_size, count, local_time
from framegate.schema.console.reporting import emit, event, rendered
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE, FAILED, CheckpointDamaged, CheckpointMissing, CheckpointNewer

_Found = TypeVar("_Found")
_LOOKS: Final = 16
"""How often a store is listed again if every checkpoint is pruned before it is read."""


def ls(place: str, *, as_json: bool) -> int:
    """Print every checkpoint; return the exit code. Checkpoints that are pruned meanwhile are left out."""
    store = _opened(place)
    rows = _of_each(store, partial(_row, store))
    if as_json:
        for row in rows:
            emit({"event": "checkpoint", **row})
    elif rows:
        print_table(list(_COLUMNS.values()), [[_text(name, row[name]) for name in _COLUMNS] for row in rows])
    else:
        print("no checkpoints")
    return DONE


def show(place: str, checkpoint_id: int, *, as_json: bool) -> int:
    """Print one checkpoint; return the exit code."""
    manifest = _opened(place).manifest(checkpoint_id)
    if as_json:
        emit({"event": "checkpoint", **manifest.as_json()})
        return DONE
    for name, value in _about(manifest).items():
        print(f"{_COLUMNS[name]}: {_text(name, value)}")
    for entries in ([asdict(each) for each in manifest.operators], [asdict(each) for each in manifest.inflight_data]):
        if entries:
            print()
            columns = [_COLUMNS.get(name, name.replace("_", " ")) for name in entries[0]]
            print_table(columns, [[_text(*each) for each in entry.items()] for entry in entries])
    return DONE


def verify(place: str, checkpoint_id: int | None, *, as_json: bool) -> int:
    """Check one checkpoint, or all of them; print every damaged file, and return 1 if there is one.

    If all are checked, a checkpoint that is pruned meanwhile does not count.
    """
    store = _opened(place)

    def look(each: int) -> list[CheckpointDamaged | CheckpointNewer]:
        return list(store.problems(each))

    checked = _of_each(store, look) if checkpoint_id is None else [look(checkpoint_id)]
    if not checked:
        raise CheckpointMissing("there is no checkpoint", store=place)
    problems = [problem for found in checked for problem in found]
    _tell(problems, as_json=as_json)
    if as_json:
        emit({"event": "summary", "checkpoints": len(checked), "damaged": len(problems)})
    elif not problems:
        print(f"checkpoints={len(checked)}")
    else:
        print(f"damaged={len(problems)}, in {sum(map(bool, checked))} of {len(checked)} checkpoints")
    return FAILED if problems else DONE


def _of_each(store: CheckpointStore, look: Callable[[int], _Found]) -> list[_Found]:
    """What ``look`` finds in each checkpoint that is not pruned meanwhile. If all of them are, the store is listed
    again.
    """
    found: list[_Found] = []
    for _ in range(_LOOKS):
        ids = store.ids()
        for checkpoint_id in ids:
            with suppress(CheckpointMissing):
                found.append(look(checkpoint_id))
        if found or not ids:
            break
    return found


def _opened(place: str) -> CheckpointStore:
    store = CheckpointStore(place)
    store.require_there()
    return store


def _tell(problems: Iterable[CheckpointDamaged | CheckpointNewer], *, as_json: bool) -> None:
    for problem in problems:
        if as_json:
            emit(event(problem))
        else:
            print(rendered(problem).splitlines()[0])


def _row(store: CheckpointStore, checkpoint_id: int) -> dict[str, Any]:
    try:
        return _about(store.manifest(checkpoint_id))
    except (CheckpointDamaged, CheckpointNewer) as damaged:
        return {**dict.fromkeys(_NAMES, "-"), "checkpoint_id": checkpoint_id, "mode": damaged.name.lower()}


def _about(manifest: Manifest) -> dict[str, Any]:
    mode = "aligned" if not manifest.is_unaligned else "unaligned"
    values = (
        manifest.checkpoint_id,
        manifest.checkpoint_uuid,
        manifest.epoch,
        manifest.pipeline,
        f"{mode}, by threshold" if manifest.was_threshold_triggered else mode,
        manifest.created_ns,
        len(manifest.operators),
        sum(each.event_count for each in manifest.inflight_data),
        manifest.state_bytes,
        manifest.size_bytes,
        f"{manifest.size_increase:.1%}",
    )
    return dict(zip(_NAMES, values, strict=True))


def _text(name: str, value: Any) -> str:
    """A value as people read it."""
    match name:
        case "ingress":
            return ", ".join(map(_place, value)) or NONE
        case "lost":
            # There may be many overwritten frames.
            return count(len(value))
        case "crc32c":
            return f"{value:08x}"
        case "created_ns" if isinstance(value, int):
            return local_time(value)
        case "bytes" | "state_bytes" | "size_bytes" if isinstance(value, int):
            return byte_size(value)
        case "operators" | "inflight_events" | "event_count" if isinstance(value, int):
            return count(value)
    return str(value)


def _place(cut: Mapping[str, int | None]) -> str:
    """A stream, and the epoch and sequence behind which an operator cut it."""
    stood = "nothing" if cut["last_seq"] is None else f"{cut['epoch']}/{cut['last_seq']}"
    return f"{cut['stream']} behind {stood}"


_COLUMNS: Final = {
    "checkpoint_id": "checkpoint",
    "created_ns": "created",
    "pipeline": "pipeline",
    "mode": "mode",
    "operators": "operators",
    "inflight_events": "inflight events",
    "state_bytes": "state",
    "size_bytes": "size",
    "increase": "increase",
    "epoch": "epoch",
    "checkpoint_uuid": "uuid",
}
"""The columns that people see, in this order; the keys are the names in --json."""
_NAMES = (
    "checkpoint_id", "checkpoint_uuid", "epoch", "pipeline", "mode", "created_ns", "operators", "inflight_events",
    "state_bytes", "size_bytes", "increase",
)  # fmt: skip
