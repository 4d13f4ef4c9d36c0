# SPDX-License-Identifier: Apache-2.0
"""What a barrier answers when it is asked whether an output may be attempted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why an output is not ready. Where several hold, the one named here first is given."""

    NO_MAP = "no_map"
    """No valid map for this output and epoch is applied."""
    DOMAIN = "domain"
    """A time of another clock domain was observed: the join is rejected until a fresh map is applied."""
    OUT_OF_ORDER = "out_of_order"
    """A later output time was emitted before."""
    BEFORE_START = "before_start"
    """A rule asks for what lies before 0. No waiting helps: skip this output."""
    REJECTED = "rejected"
    """An input's timestamps decreased: it is out until its next epoch."""
    NOT_OBSERVED = "not_observed"
    """An input showed no frame yet, or none with a timestamp."""
    INVALID = "invalid"
    """The selected frame could not be read, and none newer has come."""
    BEHIND = "behind"
    """An input was not observed, or not processed, as far as its rule asks."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The answer for one output. ``absent`` are inputs that are stale: an output that is ready goes without them.

    Where nothing is asked of a single input (NO_MAP, DOMAIN, OUT_OF_ORDER), both sets are empty.

    >>> bool(Readiness()), Readiness(frozenset({10002}), reason=Reason.BEHIND).ok
    (True, False)
    """

    waiting: frozenset[int] = frozenset()
    absent: frozenset[int] = frozenset()
    reason: Reason | None = None

    @property
    def ok(self) -> bool:
        """Whether one attempt is permitted."""
        return self.reason is None

    def __bool__(self) -> bool:
        return self.ok
