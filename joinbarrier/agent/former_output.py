# SPDX-License-Identifier: Apache-2.0
"""What an earlier life of a join published, and whether its output goes on where that was.

Frames are published as their rows are written, so consumers may have one that was never sealed. Where the sources go
back and the same frames make the same rows, that row is made again by the same number: then the output goes back too,
as a source does. Elsewhere a number could come again with other content, and the output begins anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from framegate.joinbarrier.checkpoint.state_head import StateHead
from framegate.joinbarrier.config.configuration import JoinConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRun:
    """What an earlier run published."""

    wait: Callable[[float], bool]
    """Sleeps while the lease of the earlier run may still hold."""
    from_row: int | None = None
    """The first row whose frame consumers that went back may lack; None: to them, a new epoch begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The journal that a join goes on with."""

    epoch: int
    out_epoch: int


def goes_on_from(config: JoinConfig, head: StateHead | None, tail: Tail, *, go_sources_on: bool) -> int | None:
    """The first row to publish again, where the output goes on; else None.

    ``head``: of the checkpoint that was restored; None: there was none yet, and sources begin at their beginning.
    """
    if not go_sources_on or not is_repeatable(config):
        return None
    if head is None or head.journal_epoch != tail.epoch:
        # Whatever there is: consumers pass over what they have had.
        return 0
    return head.next_row if head.out_epoch == tail.out_epoch else None


def is_repeatable(config: JoinConfig) -> bool:
    """Whether the same frames make the same rows by the same numbers, however fast and in which turns they come."""
    by_time = any(each.deadline_ms for each in config.input) or config.mergemap.stale_timeout_ms
    if by_time or config.join.max_age_ms or config.drive.kind in ("clock", "external"):
        return False
    return config.join.policy in ("sequence", "timestamp") or (config.join.policy == "union" and len(config.input) == 1)
