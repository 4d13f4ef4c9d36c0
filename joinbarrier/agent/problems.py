# SPDX-License-Identifier: Apache-2.0
"""The problems of a join: what it could not do of what was asked, as numbered errors. A summary lists them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from framegate.joinbarrier.agent.join_agent import JoinAgent
from framegate.joinbarrier.agent.no_rows import why_no_rows
from framegate.joinbarrier.agent.offline.memory import frames_without_room
from framegate.schema.errors import FramegateError, NoRows, RecordingDamaged

if TYPE_CHECKING:
    from framegate.joinbarrier.agent.offline.join_recording import RecordingJoin

_log = logging.getLogger(__name__)


def problems_of(agent: JoinAgent | RecordingJoin, summary: Mapping[str, Any]) -> list[FramegateError]:
    """The problems of a join that ended nonetheless, the gravest first."""
    found: list[FramegateError | None] = []
    is_offline = not isinstance(agent, JoinAgent)
    if not isinstance(agent, JoinAgent):
        found.append(frames_without_room(summary, agent.pending_bytes))
    if agent.has_begun:
        heard = None if isinstance(agent, JoinAgent) else agent.heard
        reason = why_no_rows(summary, heard, by_time=agent.config.has_timestamp_map)
        found.append(None if reason is None else NoRows(reason))
    if is_offline and (summary["lost"] or summary["damage"]):
        parts = len(summary["lost"])
        said = f"{parts} parts of the recording cannot be read" if parts else str(summary["damage"])
        found.append(RecordingDamaged(said, path=summary["from"]))
    return [each for each in found if each is not None]


def told(problems: Sequence[FramegateError]) -> list[dict[str, Any]]:
    """The problems as the summary lists them."""
    return [{"code": each.code, "name": each.name, "message": each.message} for each in problems]


def settle(problems: Sequence[FramegateError], *, is_strict: bool) -> None:
    """Warn of all problems, but raise the first failure if ``is_strict``. Damage alone is no failure."""
    for each in problems:
        if is_strict and not isinstance(each, RecordingDamaged):
            raise each
        _log.warning("%s", each.message)
