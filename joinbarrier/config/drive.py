# SPDX-License-Identifier: Apache-2.0
"""What makes outputs: the ``drive`` of a join, read from its text.

>>> Drive.parse("clock:30")
Drive(kind='clock', input='', hz=30.0, target='')
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from framegate.joinbarrier.config.policies import DriveKind

DRIVES: Final = '"counter", "input:NAME", "clock:HZ", "watermark" or "external:MODULE:FUNCTION"'
HZ_MAX: Final = 1e6
_TARGET: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Drive:
    """What makes outputs. Each kind uses its own field: ``input`` a name, ``clock`` a rate, ``external`` a function."""

    kind: DriveKind
    input: str = ""
    hz: float = 0.0
    target: str = ""

    @property
    def period_ns(self) -> int:
        """Between two ticks of a clock."""
        return round(1e9 / self.hz)

    @classmethod
    def parse(cls, text: str) -> Drive | None:
        """The drive that a text names; None when it names none."""
        kind, colon, rest = text.partition(":")
        match kind, bool(colon):
            case "counter" | "watermark", False:
                return cls("counter" if kind == "counter" else "watermark")
            case "input", True if rest:
                return cls("input", input=rest)
            case "clock", True if hz := _rate(rest):
                return cls("clock", hz=hz)
            case "external", True if is_target(rest):
                return cls("external", target=rest)
        return None


def is_target(text: str) -> bool:
    """Whether a text names a function as ``module:function``."""
    return _TARGET.fullmatch(text) is not None


def _rate(text: str) -> float | None:
    try:
        hz = float(text)
    except ValueError:
        return None
    return hz if math.isfinite(hz) and 0 < hz <= HZ_MAX else None
