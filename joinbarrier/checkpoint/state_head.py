# SPDX-License-Identifier: Apache-2.0
"""Reads and checks the head of a join's ``state.bin``: every number is in its range before it is used.

``README.md`` describes each key. Unknown keys are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from framegate.joinbarrier.checkpoint.messages import check_barrier
from framegate.joinbarrier.config.policies import POLICIES, PolicyName
from framegate.joinbarrier.journal.causes import Cause
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer, FramegateError

FORMAT: Final = 1
_I64_MAX: Final = 2**63 - 1
_OUT_TIMES_MAX: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlace:
    """How far a recording was read, and the time there."""

    name: str
    position: int
    monotonic_ns: int
    realtime_ns: int
    digest: str = ""
    """The digest of its content; empty in older checkpoints, which know the recording by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHead:
    """Everything in a state except its frames."""

    checkpoint_id: int
    epoch: int
    is_unaligned: bool
    late_inputs: tuple[int, ...]
    operator_id: str
    out_stream: int
    policy: str
    inputs: tuple[tuple[str, int], ...]
    """Name and stream of each input."""
    journal_epoch: int
    next_row: int
    map_message: bytes | None
    stage: str
    """The stage's state, as a sealed batch holds it."""
    out_epoch: int
    cursors: tuple[tuple[int, int], ...]
    """For each input, its epoch and the newest decided sequence in it; -1 is none."""
    rest: Mapping[str, Any]
    lost: tuple[tuple[int, int, int, int, str], ...]
    """Lost frames: stream, epoch, first and last sequence, cause."""
    source: SourcePlace | None

    @property
    def streams(self) -> tuple[int, ...]:
        """Each stream once, in the order of the inputs."""
        return tuple(dict.fromkeys(stream for _, stream in self.inputs))


def read_head(found: Mapping[str, Any], *, where: str) -> StateHead:
    """Read a head. Raises CheckpointDamaged for what no join writes, CheckpointNewer for a later format."""
    try:
        if _count(found["format"]) > FORMAT:
            raise CheckpointNewer("a later format", path=where, want=FORMAT, have=found["format"])
        return _head(found)
    except CheckpointNewer:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, FramegateError) as broken:
        raise CheckpointDamaged(f"a state's head makes no sense: {broken!r}", path=where) from None


def _head(found: Mapping[str, Any]) -> StateHead:
    checkpoint_id, epoch = check_barrier(found["checkpoint_id"], found["epoch"])
    inputs = tuple((_text(each["name"]), _count(each["stream"])) for each in found["inputs"])
    policy = _text(found["policy"])
    stage, cursors = stage_text(found["stage"], policy, len(inputs))
    streams = {stream for _, stream in inputs}
    late = tuple(_count(each) for each in found["late_inputs"])
    if any(each >= len(streams) for each in late) or len(set(late)) < len(late):
        raise ValueError(f"late inputs {late}")
    message = found["map"]["message"]
    return StateHead(
        checkpoint_id=checkpoint_id,
        epoch=epoch,
        is_unaligned=_flag(found["is_unaligned"]),
        late_inputs=late,
        operator_id=_text(found["operator_id"]),
        out_stream=_count(found["out_stream"]),
        policy=policy,
        inputs=inputs,
        journal_epoch=_count(found["journal"]["epoch"]),
        next_row=_count(found["journal"]["next_row"]),
        map_message=None if message is None else bytes.fromhex(_text(message)),
        stage=stage,
        out_epoch=_count(found["stage"]["out_epoch"]),
        cursors=cursors,
        rest=_rest(found["rest"], streams),
        lost=tuple(_lost(found, streams)),
        source=_source(found.get("source")),
    )


def stage_text(state: Mapping[str, Any], policy: str, inputs: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A stage's state in the form in which it is sealed, whatever the order of its keys, and its cursors.

    >>> stage_text({"inputs": [[7, 1, 1, 0]], "map": 1, "out_seq": 2, "out_epoch": 1}, "union", 1)
    ('{"out_epoch":1,"out_seq":2,"map":1,"inputs":[[7,1,1,0]]}', ((7, 1),))
    """
    names = ("out_epoch", "out_seq", "map")
    numbers = {name: _count(state[name]) for name in names}
    numbers |= {name: _number(state[name]) for name in POLICIES[cast(PolicyName, policy)].numbers_kept}
    rows = [[_number(value) for value in each] for each in state["inputs"]]
    if len(rows) != inputs or any(len(each) != 4 for each in rows):
        raise ValueError(f"cursors of {len(rows)} inputs, not {inputs}")
    text = json.dumps({**numbers, "inputs": rows}, separators=(",", ":"))
    return text, tuple((each[0], each[1]) for each in rows)


def _rest(found: Mapping[str, Any], streams: set[int]) -> dict[str, Any]:
    out_times = [_count(each) for each in found["out_times"]]
    if len(out_times) > _OUT_TIMES_MAX:
        raise ValueError(f"{len(out_times)} output times wait")
    told = [_stream_rest(each) for each in found["streams"]]
    if {each["stream"] for each in told} != streams or len(told) != len(streams):
        raise ValueError("the rest is of other streams")
    return {
        "streams": told,
        "watermark_ms": _maybe(found["watermark_ms"]),
        "next_tick_ns": _maybe(found["next_tick_ns"]),
        "out_times": out_times,
    }


def _stream_rest(found: Mapping[str, Any]) -> dict[str, Any]:
    numbers = ("epoch", "last_seq", "watermark_ms", "last_slot_ns", "last_descriptor_ns")
    flags = ("is_observed", "is_ended", "is_rejected")
    told: dict[str, Any] = {"stream": _count(found["stream"])}
    told |= {name: _maybe(found[name]) for name in numbers}
    told |= {name: _flag(found[name]) for name in flags}
    if found.get("then") is not None:
        # The stream's next epoch, which had begun while frames of this one waited.
        told["then"] = _stream_rest({**found["then"], "stream": told["stream"]})
    return told


def _lost(found: Mapping[str, Any], streams: set[int]) -> list[tuple[int, int, int, int, str]]:
    spans = [
        (_count(stream), _count(epoch), _count(first), _count(last), str(Cause(cause)))
        for stream, epoch, first, last, cause in found["lost"]
    ]
    spans += [
        (_count(stream), _count(epoch), _count(seq), _count(seq), str(Cause.OVERWRITTEN))
        for stream, epoch, seq in found["overwritten"]
    ]
    if any(each[0] not in streams or each[2] > each[3] for each in spans):
        raise ValueError("a loss of no input")
    return spans


def _source(found: object) -> SourcePlace | None:
    if not isinstance(found, Mapping):
        return None
    return SourcePlace(
        name=_text(found["name"]),
        position=_count(found["position"]),
        monotonic_ns=_count(found["monotonic_ns"]),
        realtime_ns=_count(found["realtime_ns"]),
        digest=_text(found.get("digest", "")),
    )


def _number(found: object) -> int:
    """Check a count, or -1 for none."""
    return -1 if found == -1 and not isinstance(found, float) else _count(found)


def _maybe(found: object) -> int | None:
    return None if found is None else _count(found)


def _count(found: object) -> int:
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= _I64_MAX:
        raise TypeError(f"a count is wanted, not {found!r:.60}")
    return found


def _flag(found: object) -> bool:
    if not isinstance(found, bool):
        raise TypeError(f"true or false is wanted, not {found!r:.60}")
    return found


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"text is wanted, not {found!r:.60}")
    return found
