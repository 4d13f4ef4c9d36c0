# SPDX-License-Identifier: Apache-2.0
"""How punctual is a replay at recorded speed? How fast is one at ``--speed max``, and what does a slow consumer lose?

A recording is made first, of real producers; then it is replayed to consumers that copy each frame out. Recorder,
replay and consumers are processes of their own, the file lies in shared memory. Late is what a replay itself says: from
the moment at which a frame was due until it was published. The rate is that of the consumers: from the first frame that
one of them has to the last.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dev.bench.join_bed import Process
from dev.bench.pool_bed import driver, sized
from dev.bench.result import Result
from dev.bench.spark_load import Others

STREAMS: Final = (10_001, 10_002)
_SMALL_BYTES: Final = 4096
_SMALL_HZ: Final = 5_000.0
_LARGE_BYTES: Final = 640 * 1024
_LARGE_HZ: Final = 400.0
_SMALL_SLOTS: Final = 256
_LARGE_SLOTS: Final = 64
_PACED_BYTES: Final = 64 * 1024
_PACED_HZ: Final = 1_000.0
"""Of each of both streams."""
_PACED_SLOTS: Final = 256
_LATE_US_MAX: Final = 200.0
_RUNS: Final = 5
_PAUSE_NS: Final = 4_000_000


def run(*, quick: bool = False) -> list[Result]:
    """At recorded speed; then small frames, large ones, and large ones beside a slow consumer."""
    runs, paced, small, large = (1, 200, 2_000, 100) if quick else (_RUNS, 5_000, 20_000, 1_000)
    with _bed(_PACED_BYTES, _PACED_SLOTS, _PACED_HZ, paced) as bed:
        results = [_late(bed, runs)]
    with _bed(_SMALL_BYTES, _SMALL_SLOTS, _SMALL_HZ, small) as bed:
        results += [_rate(bed, runs, _SMALL_BYTES, _SMALL_SLOTS, "frames", "frames/s")]
    # Of these there are more than the ring holds, or nothing could be overwritten.
    with _bed(_LARGE_BYTES, _LARGE_SLOTS, _LARGE_HZ, large) as bed:
        results.append(_rate(bed, runs, _LARGE_BYTES, _LARGE_SLOTS, "bytes", "GB/s"))
        results.append(_beside_a_slow_one(bed, 1 if quick else 3))
    return results


class _Bed:
    """A driver and a recording."""

    def __init__(self, home: Path, file: Path) -> None:
        self._where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool"]
        self._places = (f"{home}/aeron", f"{home}/pool")
        self._file = file

    def replayed(self, pauses_ns: tuple[int, ...], speed: str = "max") -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Replay to consumers that pause for so long after each frame, one of each stream in turn: what all say."""
        readers = [
            Process("dev.bench.replay_reader", *self._places, str(STREAMS[index % 2]), str(pause_ns))
            for index, pause_ns in enumerate(pauses_ns)
        ]
        replay = None
        try:
            for each in readers:
                each.answer()
            wanted = str(len(pauses_ns) // 2)
            words = [str(self._file), "--speed", speed, "--wait-consumers", wanted, "--end", "--json", *self._where]
            replay = Process("framegate", "replay", *words)
            while (said := replay.answer())["event"] != "summary":
                continue
            return said, [each.answer() for each in readers]
        finally:
            for each in [*readers, *([replay] if replay else [])]:
                each.close()


@contextmanager
def _bed(frame_bytes: int, slots: int, rate_hz: float, count: int) -> Iterator[_Bed]:
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-replay-", dir="/dev/shm"))
    file = home / "in.mcap"
    try:
        with driver(str(home), slots, frame_bytes):
            _record(home, file, frame_bytes, rate_hz, count)
            yield _Bed(home, file)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _record(home: Path, file: Path, frame_bytes: int, rate_hz: float, count: int) -> None:
    where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool", "--json"]
    streams = ",".join(map(str, STREAMS))
    processes = [Process("framegate", "record", str(file), "--streams", streams, "--payload", *where)]
    pace = [
        "--rate",
        str(rate_hz),
        "--count",
        str(count),
        "--shape",
        str(frame_bytes),
        "--wait-consumers",
        "1",
        "--end",
    ]
    try:
        while processes[0].answer()["event"] != "ready":
            continue
        processes += [Process("framegate", "produce", "--stream", str(stream), *pace, *where) for stream in STREAMS]
        # It ends when the streams do.
        while processes[0].answer()["event"] != "summary":
            continue
    finally:
        for each in processes:
            each.close()


def _not_read(said: dict[str, Any], read: list[dict[str, Any]]) -> int:
    """Frames that were published, and that a consumer did not have."""
    published = {each["stream"]: each["frames"] for each in said["streams"]}
    return sum(published[each["stream"]] - each["frames"] for each in read)


def _late(bed: _Bed, runs: int) -> Result:
    others = Others()
    medians: list[float] = []
    tails: list[float] = []
    frames = lost = 0
    for _ in range(runs):
        said, read = bed.replayed((0, 0), "1")
        medians.append(said["late_ns"]["p50"] / 1e3)
        tails.append(said["late_ns"]["p99"] / 1e3)
        frames = said["frames"]
        lost += _not_read(said, read)
    return Result(
        question=f"how late a frame is published at recorded speed, p50: 2 streams of {sized(_PACED_BYTES)} "
        f"at {_PACED_HZ:g}/s each",
        measured=statistics.median(medians),
        unit="us",
        target=_LATE_US_MAX,
        spread=(min(medians), max(medians)),
        how=f"p99 {'/'.join(f'{tail:.0f}' for tail in tails)} us; {runs} runs of {frames} frames, {lost} lost; "
        f"{others.remark()}",
    )


def _rate(bed: _Bed, runs: int, frame_bytes: int, slots: int, of: str, unit: str) -> Result:
    scale = 1e9 if unit == "GB/s" else 1.0
    rates: list[float] = []
    frames = lost = 0
    for _ in range(runs):
        said, read = bed.replayed((0, 0))
        spent_s = (max(each["last_ns"] for each in read) - min(each["first_ns"] for each in read)) / 1e9
        rates.append(sum(each[of] for each in read) / spent_s / scale)
        frames = sum(each["frames"] for each in read)
        lost += _not_read(said, read)
    return Result(
        question=f"replay 2 streams of {sized(frame_bytes)} at full speed to a consumer of each",
        measured=statistics.median(rates),
        unit=unit,
        spread=(min(rates), max(rates)),
        how=f"{runs} runs of {frames} frames in rings of {slots}; {lost} lost",
    )


def _beside_a_slow_one(bed: _Bed, runs: int) -> Result:
    lost: list[float] = []
    paused = short = 0
    for _ in range(runs):
        said, read = bed.replayed((0, 0, _PAUSE_NS, _PAUSE_NS))
        lost.append(sum(each["overwritten"] for each in read))
        short += _not_read(said, read)
        paused += sum(each["paused"] for each in said["streams"])
    return Result(
        question=f"frames of {sized(_LARGE_BYTES)} that a replay at full speed overwrites beside consumers of 250/s",
        measured=max(lost),
        unit="frames",
        target=0,
        spread=(min(lost), max(lost)),
        how=f"{runs} runs in rings of {_LARGE_SLOTS}; {short} frames not read, the replay waited {paused} times",
    )
