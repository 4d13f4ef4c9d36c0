# SPDX-License-Identifier: Apache-2.0
"""The output of an earlier run of a join, and whether this run's output goes on from it.

Frames are published as their rows are written, so consumers may have frames of rows that were never sealed. If the
sources go back, and the same frames make the same rows, those rows are made again with the same numbers. Then the
output goes back too, as a source does. Otherwise a number could come again with other content, so the output begins a
new epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from framegate.joinbarrier.checkpoint.state_head import StateHead
from framegate.joinbarrier.config.configuration import JoinConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerRun:
    """What an earlier run of the join has published."""

    wait: Callable[[float], bool]
    """Sleeps for some seconds; it is used while the lease of the earlier run may still hold."""
    from_row: int | None = None
    """The first row whose frame a consumer that went back may lack; None begins a new epoch of the output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The end of the journal that a join goes on with."""

    epoch: int
    out_epoch: int


def goes_on_from(config: JoinConfig, head: StateHead | None, tail: Tail, *, go_sources_on: bool) -> int | None:
    """The first row to publish again, if the output goes on; None if it begins anew.

    ``head`` is that of the restored checkpoint. None means that there is no checkpoint yet, and sources go back to
    their beginning.
    """
    if not go_sources_on or not is_repeatable(config):
        return None
    if head is None or head.journal_epoch != tail.epoch:
        # Publish every row that the journal has: consumers skip those that they have had.
        return 0
    return head.next_row if head.out_epoch == tail.out_epoch else None


def is_repeatable(config: JoinConfig) -> bool:
    """Whether the same frames always make the same rows with the same numbers, whatever their speed and
    interleaving."""
    by_time = any(each.deadline_ms for each in config.input) or config.mergemap.stale_timeout_ms
    if by_time or config.join.max_age_ms or config.drive.kind in ("clock", "external"):
        return False
    return config.join.policy in ("sequence", "timestamp") or (config.join.policy == "union" and len(config.input) == 1)
