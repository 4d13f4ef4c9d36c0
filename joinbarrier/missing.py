# SPDX-License-Identifier: Apache-2.0
"""The words for what is missing: why a frame is in no row, and why a row is without an input.

A journal holds them as they stand here; ``native/join`` has the same.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

Absence: TypeAlias = Literal["stale", "late", "not_joined"]
"""Why a row is without an input."""


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
