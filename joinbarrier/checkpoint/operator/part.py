# SPDX-License-Identifier: Apache-2.0
"""``operator.json``: one operator's part of the manifest. The coordinator combines the parts of all operators."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final

from framegate.joinbarrier.checkpoint.manifest import (
    FORMAT,
    InflightData,
    OperatorState,
    flag,
    inflight_data,
    operator_state,
)
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer

OPERATOR_PART: Final = "operator.json"
OPERATOR_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}")
"""What an operator's id may look like; it is also the name of its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPart:
    """What one operator stored for one checkpoint."""

    state: OperatorState
    inflight: tuple[InflightData, ...] = ()
    is_unaligned: bool = False
    was_threshold_triggered: bool = False

    @property
    def size_bytes(self) -> int:
        """The size of its files, which its acknowledgements must equal."""
        return self.state.bytes + sum(each.bytes for each in self.inflight)

    def encode(self) -> bytes:
        """Encode the file."""
        found: dict[str, Any] = {
            "format": FORMAT,
            "is_unaligned": self.is_unaligned,
            "was_threshold_triggered": self.was_threshold_triggered,
            "operators": [asdict(self.state)],
            "inflight_data": [asdict(each) for each in self.inflight],
        }
        return (json.dumps(found, indent=1, sort_keys=True) + "\n").encode()


def decode_part(data: bytes, *, operator_id: str, where: str) -> OperatorPart:
    """Decode an operator's part. Raises CheckpointDamaged if it is another's or none, CheckpointNewer for a later
    format.
    """
    try:
        found = json.loads(data)
        if found["format"] > FORMAT:
            raise CheckpointNewer("a later format", path=where, want=FORMAT, have=found["format"])
        [state] = (operator_state(each) for each in found["operators"])
        part = OperatorPart(
            state=state,
            inflight=tuple(inflight_data(each) for each in found["inflight_data"]),
            is_unaligned=flag(found["is_unaligned"]),
            was_threshold_triggered=flag(found["was_threshold_triggered"]),
        )
        _require_own(part, operator_id)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as broken:
        raise CheckpointDamaged(f"the operator's part makes no sense: {broken!r}", path=where) from None
    return part


def _require_own(part: OperatorPart, operator_id: str) -> None:
    """Check that the part names exactly the operator's own files, in its own folder: none may speak for another."""
    folder = f"operators/{operator_id}"
    wanted = {f"{folder}/state.bin": operator_id}
    wanted |= {f"{folder}/inflight_{each.input_id}.buf": operator_id for each in part.inflight}
    entries: list[OperatorState | InflightData] = [part.state, *part.inflight]
    if {each.path: each.operator_id for each in entries} != wanted or len(entries) != len(wanted):
        raise ValueError(f"it names files that are not those of {operator_id}")
