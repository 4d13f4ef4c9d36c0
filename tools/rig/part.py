# SPDX-License-Identifier: Apache-2.0
"""A part of a rig, as the supervisor knows it: what it waits for, and how it is started and restarted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

SUPERVISOR: Final = "rig"
"""The name of the supervisor in the log. No part has it."""
RestartName = Literal["never", "on-failure", "always"]
_FIRST_PAUSE_NS: Final = 500_000_000
_PAUSE_NS_MAX: Final = 10_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When a part that ended is started again, and how often at most."""

    restart: RestartName = "on-failure"
    restarts_max: int = 5
    restarts_within_ns: int = 60_000_000_000

    def wants_restart(self, *, has_failed: bool) -> bool:
        """Whether a start follows an end of this kind, apart from the limits."""
        return self.restart == "always" or (self.restart == "on-failure" and has_failed)

    def pause_ns(self, restarts: int) -> int:
        """How long to wait before the next start, after this many restarts within the window.

        >>> [Rule().pause_ns(restarts) / 1e9 for restarts in (0, 1, 2, 9)]
        [0.5, 1.0, 2.0, 10.0]
        """
        return min(_FIRST_PAUSE_NS << min(restarts, 32), _PAUSE_NS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part. It starts when the parts of ``after`` are ready and those of ``after_end`` have ended well."""

    name: str
    kind: str
    words: tuple[str, ...] = ()
    after: frozenset[str] = frozenset()
    after_end: frozenset[str] = frozenset()
    rule: Rule = Rule()
    is_own: bool = True
    """Whether it is a command of framegate. Then it prints JSON objects, and exit code 2 rules out a restart."""
    says_ready: bool = True
    """Whether it is ready only when it says so: by its ready object, or by ``ready_text``."""
    ready_text: str | None = None
    ready_ns: int = 60_000_000_000
    """How long it may take to be ready."""
    is_service: bool = False
    """Whether it never ends by itself. It is told to end when nothing else is left."""
    environment: dict[str, str] = field(default_factory=dict)
    readers: tuple[str, ...] | None = None
    """The parts that a source waits for with ``--wait-consumers``; None if the rig file gives the number."""
    file: str | None = None
    """A file that each start writes anew, under a free name."""

    @property
    def waits_for(self) -> frozenset[str]:
        """All parts that must come first."""
        return self.after | self.after_end
