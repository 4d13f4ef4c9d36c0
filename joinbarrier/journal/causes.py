# SPDX-License-Identifier: Apache-2.0
"""The words for what is missing: why a frame is in no row, and why a row lacks an input.

A journal stores these words; ``native/join`` has the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, TypeAlias

Absence: TypeAlias = Literal["stale", "late", "not_joined"]
"""Why a row lacks an input."""


class Cause(StrEnum):
    """Why a frame was not joined."""

    NO_PARTNER = "no_partner"
    NO_MATCH = "no_match"
    SKEW = "skew"
    AGED = "aged"
    SUPERSEDED = "superseded"
    OVERWRITTEN = "overwritten"
    BEFORE_WINDOW = "before_window"
    BEFORE_FIRST = "before_first"
    LATE = "late"
    REGRESSED = "regressed"
    NULL_TIMESTAMP = "null_timestamp"
    EPOCH = "epoch"
    AGENT_DOWN = "agent_down"
    PENDING_AT_END = "pending_at_end"
    NO_ROOM = "no_room"


EXPLAINED: Final[Mapping[Cause, str]] = {
    Cause.NO_PARTNER: "another input had no frame for the output that this frame belonged to",
    Cause.NO_MATCH: "no output asked for the frame: an input had more frames than there were outputs",
    Cause.SUPERSEDED: "a newer or nearer frame of the same input was taken",
    Cause.SKEW: "the frames of its output lay further apart than `max_skew_ns`",
    Cause.AGED: "the join skipped ahead: to newer outputs, by `max_age_ms` or because it was slower than its inputs",
    Cause.LATE: "it came after its output was decided",
    Cause.BEFORE_WINDOW: "it was older than the window of the next output when it came",
    Cause.BEFORE_FIRST: "it was older than what the first output needs",
    Cause.OVERWRITTEN: "its slot was written again before it was read",
    Cause.NO_ROOM: "there was no room for it to wait in",
    Cause.REGRESSED: "its timestamp was lower than the one before it",
    Cause.NULL_TIMESTAMP: "it has no timestamp, and the rule goes by time",
    Cause.EPOCH: "its producer began anew, and the outputs that it could have been in were closed",
    Cause.AGENT_DOWN: "it passed while no agent listened, and its ring had come round before one did",
    Cause.PENDING_AT_END: "it waited for a partner when the join was ended",
}
"""What happened to a frame, as the page of the journal explains it."""
_MORE_THAN_ASKED_FOR: Final = (Cause.NO_MATCH, Cause.SUPERSEDED)


def surplus(causes: Mapping[str, int], *, is_joined: bool) -> int:
    """How many more frames an input had than the outputs asked for. No row lacks a frame because of these.

    If no frame of an input was ever joined, none is surplus: all of them are missing.

    >>> surplus({"no_match": 7, "late": 1}, is_joined=True), surplus({"no_match": 7}, is_joined=False)
    (7, 0)
    """
    return sum(causes.get(cause, 0) for cause in _MORE_THAN_ASKED_FOR) if is_joined else 0
