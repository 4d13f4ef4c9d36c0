# SPDX-License-Identifier: Apache-2.0
"""What a stage is told once, and what it proposes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.missing import Absence
from framegate.joinbarrier.reference.kind import Kind
from framegate.schema.merge import ClockDomain, TimestampSource

I64_MAX: Final = 2**63 - 1
SKIPS_MAX: Final = 256
"""Outputs that one call of ``next`` passes over; the rest waits for the next call."""

PolicyKind: TypeAlias = Literal["sequence", "timestamp", "latest", "union"]
DriveKind: TypeAlias = Literal["counter", "input", "clock", "watermark", "external"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    """One ``[[input]]``: a rule on top of a stream. Of a timestamp join, ``offset`` and ``window`` are nanoseconds."""

    stream: int
    offset: int | None = None
    window: int | None = None
    tolerance_ns: int | None = None
    source: TimestampSource = TimestampSource.SLOT_HEADER
    pick: Literal["newest", "nearest"] = "newest"
    reuse: bool = True
    deadline_ns: int = 0
    optional: bool = False
    processed: bool = False

    @property
    def shift(self) -> int:
        """From an output to what is asked of this input."""
        return 0 if self.window is not None else self.offset or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """All of it. Staleness and lateness come with the map."""

    policy: PolicyKind
    inputs: tuple[InputConfig, ...]
    out_stream: int = 20001
    drive: DriveKind = "counter"
    drive_input: int = 0
    period_ns: int = 0
    first: int | None = None
    late: Literal["drop", "stall"] = "drop"
    order_by: Literal["seq", "timestamp"] = "seq"
    max_skew_ns: int = 0
    max_age_ns: int = 0
    out_epoch: int = 0
    history: int = 64
    """How many frames of each input may wait."""

    @property
    def streams(self) -> tuple[int, ...]:
        """Every stream once, in the order of the inputs."""
        return tuple(dict.fromkeys(each.stream for each in self.inputs))

    @property
    def kind(self) -> Kind | None:
        """What readiness is about; None: nothing of a union waits for a map or for another input."""
        if self.policy == "latest":
            return Kind.LATEST_BY_TIME if self.order_by == "timestamp" else Kind.LATEST_BY_SEQ
        return {"sequence": Kind.SEQUENCE, "timestamp": Kind.TIMESTAMP}.get(self.policy)

    @property
    def has_timestamp_map(self) -> bool:
        """Whether rules speak of times."""
        return self.kind is not None and self.kind.reads_times

    def map(self, epoch: int, stale_timeout_ns: int | None = None, lateness_ns: int = 0) -> MergeMap:
        """The map that these inputs describe."""
        if self.has_timestamp_map:
            return MergeMap(
                self.out_stream,
                epoch,
                list(self._timestamp_rules()),
                stale_timeout_ns=stale_timeout_ns,
                clock_domain=ClockDomain.MONOTONIC,
                lateness_ns=lateness_ns,
            )
        return MergeMap(self.out_stream, epoch, list(self._sequence_rules()), stale_timeout_ns=stale_timeout_ns)

    def _timestamp_rules(self) -> Iterator[TimestampRule]:
        for each in self.inputs:
            offset_ns = each.shift if each.window is None else None
            yield TimestampRule(each.stream, offset_ns=offset_ns, window_ns=each.window, source=each.source)

    def _sequence_rules(self) -> Iterator[SequenceRule]:
        for each in self.inputs:
            yield SequenceRule(each.stream, offset=each.shift if each.window is None else None, window=each.window)


@dataclass(frozen=True, slots=True)
class Pick:
    """A frame to read."""

    epoch: int
    seq: int
    timestamp_ns: int | None
    descriptor_timestamp_ns: int | None
    trace_id: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An output to try: for each input a frame to read, or why the row goes without it."""

    out_epoch: int
    out_seq: int
    out_time_ns: int | None
    picks: tuple[Pick | Absence, ...]
