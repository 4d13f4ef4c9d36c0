# SPDX-License-Identifier: Apache-2.0
"""The configuration of a stage, and what the stage proposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framegate.joinbarrier.config.policies import DriveKind, PolicyName
from framegate.joinbarrier.journal.causes import Absence
from framegate.schema.merge import TimestampSource
from framegate.spec.join.kind import Kind

I64_MAX: Final = 2**63 - 1
SKIPS_MAX: Final = 256
"""Most outputs that one call of ``next`` skips; the next call goes on."""

PolicyKind: TypeAlias = PolicyName
PickName: TypeAlias = Literal["newest", "nearest", "latest", "sequence"]
"""Which frame a timestamp join takes: the newest that its rule admits, the nearest, the newest that is there without
waiting for another, or the one whose sequence is the anchor's plus ``seq_offset``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    """One ``[[input]]``, which a rule of the map may bind. It chooses among the frames that the rule allows."""

    stream: int
    tolerance_ns: int | None = None
    source: TimestampSource = TimestampSource.SLOT_HEADER
    """The timestamp that counts if the map names none."""
    pick: PickName = "newest"
    seq_offset: int = 0
    reuse: bool = True
    deadline_ns: int = 0
    optional: bool = False
    processed: bool = False
    drops_regressed: bool = False
    """Whether a frame whose time goes back is dropped; otherwise the whole stream is rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """The whole configuration of a stage. Rules, staleness and lateness come only with maps."""

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
        """The kind of readiness. None for a union, which waits for no map and no other input."""
        if self.policy == "latest":
            return Kind.LATEST_BY_TIME if self.order_by == "timestamp" else Kind.LATEST_BY_SEQ
        return {"sequence": Kind.SEQUENCE, "timestamp": Kind.TIMESTAMP}.get(self.policy)

    @property
    def reads_times(self) -> bool:
        """Whether rules compare times."""
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
