# SPDX-License-Identifier: Apache-2.0
"""What a stage is told once, and what it proposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.config.drive import PolicyName
from framegate.joinbarrier.journal.causes import Absence
from framegate.schema.merge import TimestampSource
from framegate.spec.join.kind import Kind

I64_MAX: Final = 2**63 - 1
SKIPS_MAX: Final = 256
"""Outputs that one call of ``next`` passes over; the rest waits for the next call."""

PolicyKind: TypeAlias = PolicyName
PickName: TypeAlias = Literal["newest", "nearest", "latest", "sequence"]
"""Which frame a timestamp join takes: the newest that its rule admits, the nearest, the newest that is there without
waiting for another, or the one whose sequence is the anchor's plus ``seq_offset``."""
DriveKind: TypeAlias = Literal["counter", "input", "clock", "watermark", "external"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    """One ``[[input]]``, which a map's rule may bind. It chooses among the frames that the rule admits."""

    stream: int
    tolerance_ns: int | None = None
    source: TimestampSource = TimestampSource.SLOT_HEADER
    """The timestamp that counts where a map names none."""
    pick: PickName = "newest"
    seq_offset: int = 0
    reuse: bool = True
    deadline_ns: int = 0
    optional: bool = False
    processed: bool = False
    drops_regressed: bool = False
    """Whether a frame whose time goes back is left out, instead of the whole stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """All of it. Rules, staleness and lateness come with maps alone."""

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
    def reads_times(self) -> bool:
        """Whether rules speak of times."""
        return self.kind is not None and self.kind.reads_times


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
