# SPDX-License-Identifier: Apache-2.0
"""The tables of a join.toml: their keys, types, ranges and defaults. ``rules.py`` says what must fit together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from framegate.joinbarrier.config.drive import DRIVES, Drive, is_target
from framegate.joinbarrier.config.policies import PolicyName
from framegate.schema.config.types import U32_MAX, AeronStream, Name, Section, Size, StreamId, wanted
from framegate.shmpool.idle import WaitName
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

import framegate._native as _native

PAYLOAD_COLUMN_MAX: Final = 1 << 30
"""Bytes of one payload column in a sealed batch: Arrow's offsets and readers stay well inside 32 bits."""
INPUTS_MAX: Final = 128
JOURNAL_COLUMNS: Final = tuple(name for name, _ in _native.journal_columns())
"""Columns that every journal has; an input is a column of its own beside them."""
_PAGE: Final = 4096
_I32_MAX: Final = 2**31 - 1
_I64_MAX: Final = 2**63 - 1
_MS_MAX: Final = 10**12
"""About thirty years: as nanoseconds it still fits every field."""


def _drive(text: str) -> str:
    if Drive.parse(text) is None:
        raise wanted(DRIVES)
    return text


def _first(value: Any) -> Any:
    if value == "auto" or (type(value) is int and 0 <= value <= _I64_MAX):
        return value
    raise wanted('"auto" or a number from 0 on')


def _column(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise wanted("a name of small letters, digits and _ that begins with a letter, 64 at most")
    if name in JOURNAL_COLUMNS:
        raise wanted(f"a name that is no column of every journal ({', '.join(JOURNAL_COLUMNS)})")
    return name


def _published(text: str) -> str:
    if text and not is_target(text) and not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        raise wanted('the name of an input, or "module:function"')
    return text


@dataclass(frozen=True, slots=True)
class DecidesRows:
    """Marks a key that decides which rows a join makes of the same frames. A recording is joined into a journal that
    holds another one only by the same values of all such keys.
    """


def keys_that_decide_rows(section: type[Section]) -> set[str]:
    """The names of a section's marked keys."""
    return {key for key, field in section.model_fields.items() if DecidesRows() in field.metadata}


Count = Annotated[int, Field(ge=0, le=_I64_MAX)]
Milliseconds = Annotated[int, Field(ge=0, le=_MS_MAX)]
PositiveSize = Annotated[Size, Field(ge=1)]


class JoinSection(Section):
    """``[join]``: what is joined, by which policy, and where the rows go.

    ``drive`` says what makes an output. Left out, it is ``counter`` for ``sequence``, ``latest`` and ``union``, and
    ``input:`` and the name of the first input for ``timestamp``. ``control_upstreams``: how many heads send each signal
    on the control channel; a pipeline with its coordinator has one. ``wait_consumers``: how many have to read what it
    publishes before it joins anything.
    """

    out_stream: StreamId = 20001
    policy: Annotated[PolicyName, DecidesRows()] = "sequence"
    journal: Annotated[str, Field(min_length=1, max_length=4096)] = "out/joined"
    drive: Annotated[Annotated[str, AfterValidator(_drive)] | None, DecidesRows()] = None
    first: Annotated[int | str, BeforeValidator(_first), DecidesRows()] = "auto"
    hold: Literal["payload", "descriptor"] = "payload"
    pending: Literal["auto", "ring", "copy"] = "auto"
    pending_bytes: PositiveSize = 256 << 20
    outputs: Count = 0
    publish: Annotated[str, AfterValidator(_published)] = ""
    wait_consumers: Annotated[int, Field(ge=0, le=_I32_MAX)] = 0
    unmatched: Literal["rows", "counts"] = "rows"
    idle: WaitName = "bell"
    on_input_restart: Literal["new_epoch", "stop"] = "new_epoch"
    max_skew_ns: Annotated[Count, DecidesRows()] = 0
    max_age_ms: Annotated[Milliseconds, DecidesRows()] = 0
    pipeline: Name = "default"
    control_upstreams: Annotated[int, Field(ge=1, le=_I32_MAX)] = 1


class JournalSection(Section):
    """``[journal]``: how much is kept, when a batch is sealed, and what survives a crash of the host.

    ``prefault`` says how much of it has memory before the agent is ready: the ``next`` segment, or ``all`` of
    ``max_bytes``, for the highest rate from the first row on.
    """

    max_bytes: PositiveSize = 1 << 30
    when_full: Literal["drop_oldest", "block"] = "drop_oldest"
    durability: Literal["memory", "disk", "fsync", "checkpoint"] = "memory"
    seal_rows: Annotated[int, Field(ge=1, le=_I32_MAX)] = 1024
    seal_bytes: Annotated[PositiveSize, Field(le=PAYLOAD_COLUMN_MAX)] = 64 << 20
    seal_ms: Milliseconds = 10
    segment_bytes: PositiveSize = 256 << 20
    prefault: Literal["next", "all"] = "next"
    segment_s: Annotated[int, Field(ge=1, le=_I32_MAX)] = 60
    reader_lease_s: Annotated[int, Field(ge=1, le=_I32_MAX)] = 600

    @model_validator(mode="after")
    def _fit(self) -> Self:
        """Fit the sizes that are left out to the others: four files in ``max_bytes``, and four batches in a file."""
        self._unless_written("segment_bytes", max(_PAGE, self.max_bytes // 4 // _PAGE * _PAGE))
        self._unless_written("seal_bytes", max(1, self.segment_bytes // 4))
        return self

    def _unless_written(self, key: str, most: int) -> None:
        if key not in self.model_fields_set:
            # Frozen for others: nobody has seen it yet.
            object.__setattr__(self, key, min(getattr(self, key), most))


class CheckpointSection(Section):
    """``[checkpoint]``: memory for what waits behind a barrier, and what holds while no coordinator says otherwise.

    Where checkpoints are kept, how long an alignment may take and whether it may become unaligned is the pipeline's
    affair, and comes from its coordinator. ``prefault`` takes the memory before the agent is ready, instead of when a
    frame first has to wait. ``interval_ms`` is for a join of a recording, which keeps checkpoints by itself (0: none).
    """

    max_buffer_per_input: Annotated[int, Field(ge=1, le=1 << 20)] = 100_000
    max_buffer_memory_bytes: PositiveSize = 256 << 20
    max_inflight_bytes: PositiveSize = 512 << 20
    prefault: bool = False
    interval_ms: Milliseconds = 1000
    alignment_timeout_ms: Annotated[int, Field(ge=1, le=_MS_MAX)] = 1000
    late_barrier_timeout_ms: Milliseconds = 10_000
    unaligned: bool = True
    force_unaligned: bool = False


class MergeMapSection(Section):
    """``[mergemap]``: who is the map's authority, and what holds for the map as a whole.

    ``announce_ms`` is how often an authority announces its map again unasked.
    """

    serve: bool = True
    epoch: Count = 0
    announce_ms: Annotated[int, Field(ge=10, le=_MS_MAX)] = 1000
    stale_timeout_ms: Annotated[Milliseconds, DecidesRows()] = 0
    lateness_ns: Annotated[Count, DecidesRows()] = 0
    clock_domain: Annotated[Literal["monotonic", "realtime_synced"], DecidesRows()] = "monotonic"
    order_by: Annotated[Literal["seq", "timestamp"], DecidesRows()] = "seq"
    late: Annotated[Literal["drop", "stall"], DecidesRows()] = "drop"


class InputSection(Section):
    """``[[input]]``: one input, which is a column of the journal and a rule of the map.

    Without a ``stream`` its stream has the input's own name. In a join by time ``offset`` is of sequences: it picks the
    frame whose number is that of the driving input's frame plus the offset. ``pick = "latest"`` takes the newest frame
    that is there, and no row waits for another.
    """

    name: Annotated[str, AfterValidator(_column)]
    stream: Annotated[StreamId, DecidesRows()]
    descriptor_stream: AeronStream | None = None
    offset: Annotated[Annotated[int, Field(ge=-_I32_MAX, le=_I32_MAX)] | None, DecidesRows()] = None
    window: Annotated[Annotated[int, Field(ge=1, le=U32_MAX - 1)] | None, DecidesRows()] = None
    offset_ns: Annotated[Annotated[int, Field(ge=-_I64_MAX, le=_I64_MAX)] | None, DecidesRows()] = None
    window_ns: Annotated[Annotated[int, Field(ge=1, le=_I64_MAX)] | None, DecidesRows()] = None
    tolerance_ns: Annotated[Count | None, DecidesRows()] = None
    timestamp_source: Annotated[Literal["slot_header", "frame_descriptor"], DecidesRows()] = "slot_header"
    pick: Annotated[Literal["newest", "nearest", "latest"], DecidesRows()] = "newest"
    reuse: Annotated[bool, DecidesRows()] = True
    deadline_ms: Annotated[Milliseconds, DecidesRows()] = 0
    processed: bool = False
    optional: Annotated[bool, DecidesRows()] = False
    regressed: Annotated[Literal["reject", "drop"], DecidesRows()] = "reject"
    barrier: Literal["producer", "ingress"] = "producer"

    @model_validator(mode="before")
    @classmethod
    def _has_a_stream(cls, data: Any) -> Any:
        return {"stream": data["name"], **data} if isinstance(data, dict) and "name" in data else data
