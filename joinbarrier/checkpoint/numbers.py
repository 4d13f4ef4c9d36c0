# SPDX-License-Identifier: Apache-2.0
"""Checks numbers that callers give: Python would accept a float, a text or a bool where a count is meant."""

from __future__ import annotations

import math
import operator

from framegate.schema.errors import InvalidValue


def whole(field: str, value: int, least: int, most: int) -> int:
    """Check a whole number in a range. Raises InvalidValue."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise InvalidValue(f"wanted {least}..{most}", field=field, found=value)
    return number


def nanoseconds(field: str, seconds: object) -> int:
    """Convert seconds to nanoseconds. Raises InvalidValue for anything that is not a span of time.

    >>> nanoseconds("alignment_timeout_s", 0.5)
    500000000
    """
    if not isinstance(seconds, int | float) or not math.isfinite(seconds) or not 0 <= seconds < 1e9:
        raise InvalidValue("wanted seconds, 0 or more", field=field, found=seconds)
    return round(seconds * 1e9)
