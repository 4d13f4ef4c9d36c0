# SPDX-License-Identifier: Apache-2.0
"""How long a client believes that the owner of its regions, the driver, is alive (PROTOCOL 5.3 and 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ANNOUNCE_PERIOD_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerTimes:
    """Time limits of three and five announce periods. They also suit drivers that announce every three seconds."""

    freshness_ns: int = 3 * ANNOUNCE_PERIOD_NS
    """An announce, or the activity in its regions, that is older than this is a replay or of a dead owner."""
    silence_ns: int = 5 * ANNOUNCE_PERIOD_NS
    """After this long without an announce, or without activity in mapped regions, their owner counts as dead."""
