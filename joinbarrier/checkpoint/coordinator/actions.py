# SPDX-License-Identifier: Apache-2.0
"""The values that go into and come out of a coordinator: its rules, its actions, and the results of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from framegate.schema import Message
from framegate.schema.control import AbortCause

_NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorRules:
    """The configuration of a pipeline, fixed before the first message."""

    pipeline: str
    store: str
    """The store as operators are told: an absolute path, or a URI."""
    interval_ns: int = 0
    """The time between two periodic checkpoints; 0: only on request."""
    alignment_timeout_ms: int = 1_000
    late_barrier_timeout_ms: int = 10_000
    operator_timeout_ms: int = 3_000
    checkpoint_timeout_ns: int = 41_000 * _NS_PER_MS
    """The longest that a checkpoint may take, from its start to the final acknowledgement."""
    is_unaligned_allowed: bool = True
    is_forced: bool = False
    announce_period_ns: int = 1_000 * _NS_PER_MS
    operators_max: int = 1_024
    requests_max: int = 64
    """Most requests that wait for the same checkpoint."""

    @property
    def place_timeout_ms(self) -> int:
        """How long agents have to say where they hold a shared stream. Those that did say it hold for at most the whole
        threshold, so a silent one is named before any of them gives up.
        """
        return max(self.alignment_timeout_ms // 2, 1)

    @property
    def operator_timeout_ns(self) -> int:
        """How long an operator may be silent before it counts as lost."""
        return self.operator_timeout_ms * _NS_PER_MS


@dataclass(frozen=True, slots=True)
class IssuedIds:
    """What outlives a coordinator: the highest id that anybody was told, and the epoch in which it was told."""

    last_checkpoint_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The newest checkpoint of the previous coordinator: either it exists, or it never will."""

    checkpoint_id: int
    is_complete: bool
    operators: tuple[str, ...] = ()
    """The operators of the newest whole checkpoint."""


# --- what the coordinator asks for --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """Send this message on the control stream. ``is_periodic``: it will be sent again anyway."""

    message: Message
    is_periodic: bool = False


@dataclass(frozen=True, slots=True)
class Allocate:
    """Store this id durably. The result is an ``Allocated`` or an ``AllocationFailed``."""

    issued: IssuedIds


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Complete a checkpoint that all acknowledged: compare the files, and write the manifest. The result is a
    ``Stored`` or a ``StoreProblem``.
    """

    checkpoint_id: int
    epoch: int
    is_asked_unaligned: bool
    acknowledged: tuple[tuple[str, int], ...]
    """The operators, and how many bytes they say they stored."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Log a warning: somebody should look at this."""

    text: str


Action: TypeAlias = Say | Allocate | Finish | Warn


# --- what the coordinator is told ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allocated:
    """The id is stored durably."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class AllocationFailed:
    """It is not known whether the id is stored, so nobody is told it."""

    checkpoint_id: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The manifest is stored durably: the checkpoint exists."""

    checkpoint_id: int
    size_bytes: int
    is_unaligned: bool
    was_threshold_triggered: bool
    pruned: int = 0


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """There is no manifest, and there will be none."""

    checkpoint_id: int
    cause: AbortCause
    reason: str


Result: TypeAlias = Allocated | AllocationFailed | Stored | StoreProblem
