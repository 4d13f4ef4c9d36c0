# SPDX-License-Identifier: Apache-2.0
"""Durations, sizes, counts, rates and times as people read them. Programs get the raw numbers, by ``--json``."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Final

NONE: Final = "-"
"""The cell of a value that there is none of."""
_DURATIONS: Final[tuple[tuple[int, str], ...]] = (
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "µs"),
    (1, "ns"),
)
_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_NS: Final = 1_000_000_000
_SOON_NS: Final = 3600 * _NS
YEAR_2000_NS: Final = 946_684_800 * _NS
_YEAR_2200_NS: Final = 7_258_118_400 * _NS


def duration(ns: int | None, digits: int = 9) -> str:
    """Nanoseconds in the largest unit that keeps the number above 1, with so many digits at most.

    >>> duration(10_000_000), duration(1_500_000_000), duration(7), duration(-33_333_333, digits=4)
    ('10 ms', '1.5 s', '7 ns', '-33.33 ms')
    """
    if ns is None:
        return NONE
    unit, name = next(each for each in _DURATIONS if abs(ns) >= each[0] or each[0] == 1)
    number = f"{ns / unit:.{digits}g}"
    return f"{ns / unit:,.0f} {name}" if "e" in number else f"{number} {name}"


def rounded(ns: int | None) -> str:
    """A measured duration: four digits are enough to compare it with another."""
    return duration(ns, digits=4)


def byte_size(size: int | None) -> str:
    """Bytes in the largest unit that keeps the number above 1.

    >>> byte_size(512), byte_size(1536), byte_size(256 << 20)
    ('512 B', '1.5 KiB', '256 MiB')
    """
    if size is None:
        return NONE
    power = min(max(abs(size).bit_length() - 1, 0) // 10, len(_SIZES) - 1)
    return f"{size / (1 << 10 * power):.4g} {_SIZES[power]}"


def rate(hz: float | None) -> str:
    """Frames a second.

    >>> rate(29.97), rate(1_234.5), rate(None)
    ('29.97 Hz', '1.234 kHz', '-')
    """
    if hz is None:
        return NONE
    return f"{hz:.4g} Hz" if hz < 999.95 else f"{hz / 1000:.4g} kHz" if hz < 999_950 else f"{hz / 1e6:.4g} MHz"


def count(number: int | None) -> str:
    """A number of things, its thousands apart.

    >>> count(1234567), count(None)
    ('1,234,567', '-')
    """
    return NONE if number is None else f"{number:,}"


def local_time(ns: int | None, zone: tzinfo | None = None) -> str:
    """A time of the wall clock in the zone of this machine, or in ``zone``, to the millisecond.

    >>> from datetime import UTC
    >>> local_time(1_790_000_000_123_456_789, UTC)
    '2026-09-21 14:13:20.123 UTC'
    """
    if ns is None:
        return NONE
    try:
        found = datetime.fromtimestamp(ns // _NS, zone).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return f"{ns} ns"
    return f"{found:%Y-%m-%d %H:%M:%S}.{ns % _NS // 1_000_000:03d} {found:%Z}"


def stamp(ns: int | None, zone: tzinfo | None = None, *, near_ns: int | None = None, behind_ns: int = 0) -> str:
    """A frame's time: the local time where it is one of the wall clock, else the seconds of the clock that it is of.

    A stamp of the monotonic clock, which is ``behind_ns`` behind the wall clock, is shown as local time too where that
    makes sense: if it then lies within an hour of ``near_ns``, when something was made of the frame.

    >>> stamp(12_345_678_901_234)
    '12345.678901234 s'
    """
    if ns is None:
        return NONE
    if YEAR_2000_NS <= ns < _YEAR_2200_NS:
        return local_time(ns, zone)
    if near_ns is not None and abs(ns + behind_ns - near_ns) < _SOON_NS:
        return local_time(ns + behind_ns, zone)
    return f"{'-' if ns < 0 else ''}{abs(ns) // _NS}.{abs(ns) % _NS:09d} s"
