# SPDX-License-Identifier: Apache-2.0
"""``manifest.json``: lists what a checkpoint consists of. A checkpoint without a manifest does not exist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from framegate.joinbarrier.checkpoint.messages import U64_MAX, check_barrier
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer, InvalidValue

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """The state that one operator stored."""

    operator_id: str
    path: str
    """The file, relative to the checkpoint's directory."""
    bytes: int
    crc32c: int
    ingress: tuple[Mapping[str, int | None], ...] = ()
    """Where the operator cut the streams whose producers cannot inject: stream, epoch and last_seq of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InflightData:
    """The events that one input of an operator had in flight."""

    operator_id: str
    input_id: int
    path: str
    event_count: int
    bytes: int
    crc32c: int
    lost: tuple[Mapping[str, Any], ...] = ()
    """Frames that were overwritten before they could be copied: sequence and cause of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of one checkpoint."""

    checkpoint_id: int
    checkpoint_uuid: str
    epoch: int
    pipeline: str
    is_unaligned: bool
    was_threshold_triggered: bool
    created_ns: int
    operators: tuple[OperatorState, ...]
    inflight_data: tuple[InflightData, ...] = ()

    @property
    def state_bytes(self) -> int:
        """The size of all states, which is what an aligned checkpoint would have stored."""
        return sum(each.bytes for each in self.operators)

    @property
    def size_bytes(self) -> int:
        """The size of all files except the manifest."""
        return self.state_bytes + sum(each.bytes for each in self.inflight_data)

    @property
    def size_increase(self) -> float:
        """What overtaking cost, as a share of the size of the states."""
        return (self.size_bytes - self.state_bytes) / self.state_bytes if self.state_bytes else 0.0

    def as_json(self) -> dict[str, Any]:
        """The manifest as it is written."""
        return {"format": FORMAT, **asdict(self), "size_bytes": self.size_bytes, "state_bytes": self.state_bytes}

    def encode(self) -> bytes:
        """Encode the file."""
        return (json.dumps(self.as_json(), indent=1, sort_keys=True) + "\n").encode()


def decode(data: bytes, *, where: str) -> Manifest:
    """Decode a manifest. Raises CheckpointDamaged if it is none, and CheckpointNewer for one of a later format."""
    try:
        found = json.loads(data)
        if found["format"] > FORMAT:
            raise CheckpointNewer("a later format", path=where, want=FORMAT, have=found["format"])
        manifest = _described(found)
        sums = manifest.size_bytes, manifest.state_bytes
        if sums != (found["size_bytes"], found["state_bytes"]):
            raise ValueError("its sums are wrong")
        return manifest
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidValue) as broken:
        raise CheckpointDamaged(f"the manifest makes no sense: {broken!r}", path=where) from None


def _described(found: Mapping[str, Any]) -> Manifest:
    if found["format"] != FORMAT:
        raise ValueError(f"there is no format {found['format']}")
    checkpoint_id, epoch = check_barrier(found["checkpoint_id"], found["epoch"])
    return Manifest(
        checkpoint_id=checkpoint_id,
        checkpoint_uuid=str(UUID(found["checkpoint_uuid"])),
        epoch=epoch,
        pipeline=_text(found["pipeline"]),
        is_unaligned=flag(found["is_unaligned"]),
        was_threshold_triggered=flag(found["was_threshold_triggered"]),
        created_ns=_count(found["created_ns"]),
        operators=tuple(operator_state(each) for each in found["operators"]),
        inflight_data=tuple(inflight_data(each) for each in found["inflight_data"]),
    )


def operator_state(found: Mapping[str, Any]) -> OperatorState:
    """Read an operator's state entry. Raises ValueError, TypeError or KeyError if it is none."""
    return OperatorState(
        operator_id=_text(found["operator_id"]),
        path=safe_path(found["path"]),
        bytes=_count(found["bytes"]),
        crc32c=_count(found["crc32c"]),
        ingress=tuple(_ingress(each) for each in found.get("ingress", ())),
    )


def _ingress(found: Mapping[str, Any]) -> Mapping[str, int | None]:
    places = {name: None if found[name] is None else _count(found[name]) for name in ("epoch", "last_seq")}
    return {"stream": _count(found["stream"]), **places}


def inflight_data(found: Mapping[str, Any]) -> InflightData:
    """Read an entry of in-flight data. Raises ValueError, TypeError or KeyError if it is none."""
    return InflightData(
        operator_id=_text(found["operator_id"]),
        input_id=_count(found["input_id"]),
        path=safe_path(found["path"]),
        event_count=_count(found["event_count"]),
        bytes=_count(found["bytes"]),
        crc32c=_count(found["crc32c"]),
        lost=tuple(dict(each) for each in found.get("lost", ())),
    )


def safe_path(path: object) -> str:
    """Check that a path stays inside its directory. Raises ValueError if it does not."""
    text = _text(path)
    if not text or text.startswith("/") or any(part in ("", ".", "..") for part in text.split("/")) or "\0" in text:
        raise ValueError(f"a path that leads elsewhere: {text!r}")
    return text


def _text(found: object) -> str:
    # Unprintable text could control a terminal, and half a surrogate is no path.
    if not isinstance(found, str) or not found.isprintable():
        raise TypeError(f"text is wanted, not {found!r}")
    return found


def flag(found: object) -> bool:
    """Check a bool. Raises TypeError for anything else."""
    if not isinstance(found, bool):
        raise TypeError(f"true or false is wanted, not {found!r}")
    return found


def _count(found: object, most: int = U64_MAX) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= most:
        raise TypeError(f"a count is wanted, not {found!r:.40}")
    return found
