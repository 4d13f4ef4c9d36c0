# SPDX-License-Identifier: Apache-2.0
"""Explains why a join whose inputs had frames made no row: the likeliest cause, in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_WORDS: Final = {
    "null_timestamp": "its frames have no timestamp",
    "skew": "its frames lie further from the others than max_skew_ns",
    "aged": "its frames were older than max_age_ms",
    "late": "its frames came after their outputs were decided: lateness_ns or deadline_ms may be too small",
    "before_first": "its frames are older than what the first output needs",
    "before_window": "its frames are older than the windows of the outputs",
    "no_room": "there was no room for its frames to wait in",
    "regressed": "its timestamps go back",
    "overwritten": "its frames were overwritten before they were read",
}


@dataclass(slots=True)
class Heard:
    """The frames that were heard of one stream."""

    frames: int = 0
    first_seq: int = 0
    last_seq: int = 0
    first_ns: int | None = None
    last_ns: int | None = None

    def note(self, seq: int, timestamp_ns: int | None) -> None:
        """Count a frame."""
        self.first_seq = min(self.first_seq, seq) if self.frames else seq
        self.last_seq = max(self.last_seq, seq)
        self.frames += 1
        if timestamp_ns is not None:
            self.first_ns = timestamp_ns if self.first_ns is None else min(self.first_ns, timestamp_ns)
            self.last_ns = timestamp_ns if self.last_ns is None else max(self.last_ns, timestamp_ns)


def why_no_rows(summary: Mapping[str, Any], heard: Mapping[str, Heard] | None = None, *, by_time: bool) -> str | None:
    """The likeliest cause; None if there are rows, or had no frames to be made of.

    ``heard``: the frames of each input, if known. ``by_time``: whether frames belong together by their timestamps.

    >>> causes = {"cam": {"no_partner": 25}, "imu": {}}
    >>> why_no_rows({"rows": 0, "unmatched": {"cam": 25, "imu": 0}, "causes": causes}, by_time=True)
    'the inputs had 25 frames and there is no row: imu had no frame'
    """
    if summary["rows"] or summary.get("rows_before"):
        return None
    frames: Mapping[str, int] = summary["unmatched"]
    if heard is not None:
        frames = {name: each.frames for name, each in heard.items()}
    if not any(frames.values()):
        return None
    silent = [name for name, count in frames.items() if not count]
    if silent:
        cause = f"{', '.join(silent)} had no frame"
    else:
        cause = _inputs_without_overlap(heard or {}, by_time=by_time) or _commonest(summary.get("causes") or {})
    return f"the inputs had {sum(frames.values())} frames and there is no row: {cause}"


def _inputs_without_overlap(heard: Mapping[str, Heard], *, by_time: bool) -> str | None:
    """Two inputs whose timestamps do not overlap, in words; None if all overlap."""
    spans = {
        name: (each.first_ns, each.last_ns) if by_time else (each.first_seq, each.last_seq)
        for name, each in heard.items()
    }
    timed = [(first, last, name) for name, (first, last) in spans.items() if first is not None and last is not None]
    what = "timestamps" if by_time else "sequences"
    for (first, last, name), (then, until, other) in zip(sorted(timed), sorted(timed)[1:], strict=False):
        if last < then:
            return f"the {what} of {name} ({first} to {last}) end before those of {other} ({then} to {until}) begin"
    return None


def _commonest(causes: Mapping[str, Mapping[str, int]]) -> str:
    counts = Counter({(name, cause): count for name, found in causes.items() for cause, count in found.items()})
    if not counts:
        return "no output was due"
    (name, cause), count = counts.most_common(1)[0]
    said = _WORDS.get(cause, "no output asks for its frames: compare offset, window and tolerance_ns with its stamps")
    return f"of {name}, {said} ({count} frames {cause})"
