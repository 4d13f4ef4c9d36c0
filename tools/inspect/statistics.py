# SPDX-License-Identifier: Apache-2.0
"""What streams are like: rates, gaps, jitter, sizes, and how far apart their times lie.

This is what offsets, windows, tolerances and lateness are chosen by. Times are the frames' own where they have one, the
slot header's before the descriptor's, else the time of receipt.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

import numpy as np
from framegate.schema.console.quantities import YEAR_2000_NS
from framegate.shmpool.client.stream_names import UNNAMED
from framegate.tools.inspect.seen import Seen

_FRAMES_MAX: Final = 10_000_000
"""Of a stream; what comes after is counted and not measured."""
_I64_MAX: Final = (1 << 63) - 1
Times = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(slots=True)
class StreamFrames:
    """What was noted of one stream's frames."""

    seqs: array[int] = field(default_factory=lambda: array("q"))
    arrivals: array[int] = field(default_factory=lambda: array("q"))
    stamps: array[int] = field(default_factory=lambda: array("q"))
    epochs: set[int] = field(default_factory=set)
    has_own_time: bool = True
    has_slot_time: bool = False
    frames: int = 0
    gaps: int = 0
    missing: int = 0
    payloads: int = 0
    bytes_least: int = 0
    bytes_most: int = 0
    bytes_all: int = 0
    last: tuple[int, int] | None = None


class Statistics:
    """Take everything that is seen, then ask for the ``report``."""

    def __init__(self) -> None:
        self.streams: dict[int, StreamFrames] = {}
        self.unread = 0
        """Messages of another schema or version, or none: what they say is not measured."""
        self.first_problem = ""

    def take(self, seen: Seen) -> None:
        """Frames are noted, the rest is not."""
        if seen.kind in {"unknown", "malformed"}:
            self.unread += 1
            self.first_problem = self.first_problem or seen.problem
            return
        if seen.stream is None or seen.seq is None or not 0 <= seen.seq <= _I64_MAX:
            return
        match seen.kind:
            case "FrameDescriptor":
                self._descriptor(self.streams.setdefault(seen.stream, StreamFrames()), seen)
            case "SlotHeader" if seen.stream in self.streams:
                self._slot(self.streams[seen.stream], seen)
            case "foreign":
                self._descriptor(self.streams.setdefault(seen.stream, StreamFrames()), seen)
                self._payload(self.streams[seen.stream], seen)
            case "payload" if seen.stream in self.streams:
                self._payload(self.streams[seen.stream], seen)

    @staticmethod
    def _payload(frames: StreamFrames, seen: Seen) -> None:
        frames.bytes_least = min(frames.bytes_least, seen.bytes) if frames.payloads else seen.bytes
        frames.bytes_most = max(frames.bytes_most, seen.bytes)
        frames.bytes_all += seen.bytes
        frames.payloads += 1

    @staticmethod
    def _descriptor(frames: StreamFrames, seen: Seen) -> None:
        assert seen.seq is not None  # noqa: S101  (the caller has looked)
        epoch = seen.epoch or 0
        frames.frames += 1
        frames.epochs.add(epoch)
        if frames.last is not None and frames.last[0] == epoch and seen.seq > frames.last[1] + 1:
            frames.gaps += 1
            frames.missing += seen.seq - frames.last[1] - 1
        frames.last = (epoch, seen.seq)
        if len(frames.seqs) >= _FRAMES_MAX:
            return
        stamp = seen.timestamp_ns
        if stamp is None or not 0 <= stamp <= _I64_MAX:
            frames.has_own_time = False
            stamp = seen.log_time_ns or 0
        frames.seqs.append(seen.seq)
        frames.arrivals.append(min(max(seen.log_time_ns or 0, 0), _I64_MAX))
        frames.stamps.append(min(max(stamp, 0), _I64_MAX))

    @staticmethod
    def _slot(frames: StreamFrames, seen: Seen) -> None:
        """The slot's time is the frame's; it follows its descriptor."""
        stamp = seen.timestamp_ns
        if stamp is not None and 0 <= stamp <= _I64_MAX and frames.seqs and frames.seqs[-1] == seen.seq:
            frames.stamps[-1] = stamp
            frames.has_slot_time = True

    def report(self, names: Mapping[int, str] = UNNAMED) -> dict[str, Any]:
        """Streams by number, and every pair of them."""
        streams = {
            stream: {"name": names.get(stream), **_stream(self.streams[stream])} for stream in sorted(self.streams)
        }
        pairs = [_pair(a, self.streams[a], b, self.streams[b]) for a, b in combinations(sorted(self.streams), 2)]
        skew = [pair for pair in pairs if pair is not None]
        return {"streams": streams, "skew": skew, "unread": self.unread, "first_problem": self.first_problem}


def _stream(frames: StreamFrames) -> dict[str, Any]:
    arrivals, stamps = np.asarray(frames.arrivals, np.int64), np.asarray(frames.stamps, np.int64)
    rate = _rate(stamps)
    seqs = np.asarray(frames.seqs, np.int64)
    return {
        "frames": frames.frames,
        "epochs": len(frames.epochs),
        "first_seq": int(seqs[0]) if len(seqs) else None,
        "last_seq": int(seqs[-1]) if len(seqs) else None,
        "rate_hz": None if rate is None else round(rate, 3),
        "gaps": frames.gaps,
        "missing": frames.missing,
        "interval_ns": _spread(np.diff(stamps)) if len(stamps) > 1 else None,
        "jitter_ns": _jitter(arrivals),
        "payloads": frames.payloads,
        "payload_bytes": {"least": frames.bytes_least, "most": frames.bytes_most, "all": frames.bytes_all},
        "time": _source(frames),
        "clock": "realtime" if len(stamps) and int(stamps[0]) >= YEAR_2000_NS else "monotonic",
    }


def _source(frames: StreamFrames) -> str:
    """Whose times were measured."""
    if frames.has_slot_time:
        return "slot_header"
    return "frame_descriptor" if frames.has_own_time else "received"


def _rate(times: Times) -> float | None:
    """Frames a second, by their own times where they have some: what was received at once was not made at once."""
    if not len(times):
        return None
    span_s = (int(times.max()) - int(times.min())) / 1e9
    # What came at the first moment may have queued for long before it.
    later = int(np.count_nonzero(times != times.min()))
    return later / span_s if span_s > 0 else None


def _spread(values: Times) -> dict[str, int]:
    """Median and 99th percentile."""
    return {"p50": _percentile(values, 50), "p99": _percentile(values, 99)}


def _percentile(values: Times, rank: int) -> int:
    # One of the values: between two of them there is only a float, which does not hold times of day to the nanosecond.
    return int(np.percentile(values, rank, method="lower"))


def _jitter(arrivals: Times) -> dict[str, int] | None:
    """How far the pauses between arrivals lie from the usual one."""
    if len(arrivals) < 3:
        return None
    pauses = np.diff(arrivals)
    return _spread(np.abs(pauses - _percentile(pauses, 50)))


def _pair(a: int, first: StreamFrames, b: int, second: StreamFrames) -> dict[str, Any] | None:
    """Each frame of the one beside the nearest of the other, and beside the one of the same number."""
    if not first.stamps or not second.stamps:
        return None
    ours, theirs = np.asarray(first.stamps, np.int64), np.asarray(second.stamps, np.int64)
    numbers = np.asarray(first.seqs, np.int64)
    # What one stream has before the other begins, or after it ends, has no partner that could be near.
    inside = (ours >= theirs.min()) & (ours <= theirs.max())
    if inside.any():
        ours, numbers = ours[inside], numbers[inside]
    order = np.argsort(theirs, kind="stable")
    sorted_theirs = theirs[order]
    right = np.clip(np.searchsorted(sorted_theirs, ours), 0, len(theirs) - 1)
    left = np.maximum(right - 1, 0)
    is_left = np.abs(ours - sorted_theirs[left]) <= np.abs(sorted_theirs[right] - ours)
    nearest = np.where(is_left, left, right)
    apart = sorted_theirs[nearest] - ours
    offsets = np.asarray(second.seqs, np.int64)[order][nearest] - numbers
    usual = _percentile(offsets, 50)
    same = _same_number(first, second)
    steady = _same_number(first, second, usual)
    return {
        "streams": [a, b],
        "nearest_ns": _spread(np.abs(apart)),
        "signed_ns": _spread(apart),
        "seq_offset": usual,
        "seq_offset_share": round(float(np.mean(offsets == usual)), 4),
        "same_seq_ns": None if same is None else _spread(np.abs(same)),
        "in_step_ns": None if steady is None else _spread(np.abs(steady)),
        "drift_ns": None if steady is None else _drift(steady),
        "arrival_ns": _arrivals_apart(first, second),
    }


def _drift(apart: Times) -> int:
    """How much further apart frames of one number lie in the last half of the time than in the first."""
    half = len(apart) // 2
    return 0 if half == 0 else abs(_percentile(apart[half:], 50) - _percentile(apart[:half], 50))


def _same_number(first: StreamFrames, second: StreamFrames, offset: int = 0) -> Times | None:
    """How far apart the times of frames ``n`` and ``n + offset`` are."""
    _, ours, theirs = np.intersect1d(
        np.asarray(first.seqs, np.int64), np.asarray(second.seqs, np.int64) - offset, return_indices=True
    )
    if not len(ours):
        return None
    found: Times = np.asarray(second.stamps, np.int64)[theirs] - np.asarray(first.stamps, np.int64)[ours]
    return found


def _arrivals_apart(first: StreamFrames, second: StreamFrames) -> dict[str, int]:
    """How much longer one stream's frames take from their time to their receipt than the other's: a join's lateness."""

    def delays(frames: StreamFrames) -> Times:
        found: Times = np.asarray(frames.arrivals, np.int64) - np.asarray(frames.stamps, np.int64)
        return found

    ours, theirs = delays(first), delays(second)
    middle = _percentile(ours, 50), _percentile(theirs, 50)
    worst = _percentile(ours, 99), _percentile(theirs, 99)
    return {"p50": abs(middle[1] - middle[0]), "p99": max(abs(worst[1] - middle[0]), abs(worst[0] - middle[1]))}
