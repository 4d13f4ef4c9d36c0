# SPDX-License-Identifier: Apache-2.0
"""What can be recorded without loss: two fast cameras with their payloads, and a million descriptors without.

Producers and recorder are processes of their own, the file lies in shared memory. The million is sent at a
rate that takes two and a quarter seconds by itself: what the recorder needs beyond that is what it adds.
"""

from __future__ import annotations

import shutil
import signal
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.shmpool.clock import monotonic_ns
from framegate.tools.bench.join_bed import Process
from framegate.tools.bench.pool_bed import driver, sized
from framegate.tools.bench.result import Result

STREAMS: Final = (10_001, 10_002)
_FRAME_BYTES: Final = 640 * 1024
_RATE_HZ: Final = 500.0
_SECONDS: Final = 4.0
_SLOTS: Final = 128
_DESCRIPTORS: Final = 1_000_000
_DESCRIPTOR_RATE_HZ: Final = 450_000.0
_SMALL_BYTES: Final = 64
_SMALL_SLOTS: Final = 1024
_RUNS: Final = 5


def run(*, quick: bool = False) -> list[Result]:
    """The two targets of a recording."""
    runs, seconds, descriptors = (1, 0.5, 50_000) if quick else (_RUNS, _SECONDS, _DESCRIPTORS)
    return [_cameras(runs, seconds), _million(runs, descriptors)]


class _Bed:
    """A driver, producers, and a recorder for each run."""

    def __init__(self, home: Path, producers: list[Process]) -> None:
        self._home = home
        self._producers = producers
        self._where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool"]

    def recorded(self, rate_hz: float, count: int, *words: str) -> tuple[dict[str, Any], float, list[dict[str, Any]]]:
        """One recording of so many frames of each: its summary, how long it took from the first frame on, and what
        the producers say."""
        file = self._home / "out.mcap"
        streams = ",".join(str(stream) for stream in STREAMS[: len(self._producers)])
        recorder = Process("framegate", "record", str(file), "--streams", streams, *self._where, "--json", *words)
        try:
            while recorder.answer().get("event") != "ready":
                continue
            began_ns = monotonic_ns()
            for each in self._producers:
                each.tell({"rate_hz": rate_hz, "count": count})
            sent = [each.answer() for each in self._producers]
            recorder.send(signal.SIGINT)
            summary = recorder.answer()
            return summary, (monotonic_ns() - began_ns) / 1e9, sent
        finally:
            recorder.close()
            file.unlink(missing_ok=True)


@contextmanager
def _bed(count: int, frame_bytes: int, slots: int) -> Iterator[_Bed]:
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-record-", dir="/dev/shm"))
    producers: list[Process] = []
    try:
        with driver(str(home), slots, frame_bytes):
            try:
                for stream in STREAMS[:count]:
                    words = (f"{home}/aeron", f"{home}/pool", str(stream), str(frame_bytes))
                    producers.append(Process("framegate.tools.bench.join_load", *words))
                    producers[-1].answer()
                yield _Bed(home, producers)
            finally:
                for each in producers:
                    each.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _cameras(runs: int, seconds: float) -> Result:
    count = int(_RATE_HZ * seconds)
    lost: list[float] = []
    remarks: list[str] = []
    with _bed(2, _FRAME_BYTES, _SLOTS) as bed:
        for _ in range(runs):
            summary, _, sent = bed.recorded(_RATE_HZ, count, "--payload")
            offered = sum(each["sent"] for each in sent)
            lost.append(offered - summary["payloads"])
            remarks.append(f"{summary['lost_frames']}+{summary['lost_payloads']}")
    return Result(
        question=f"payloads of 2 streams of {sized(_FRAME_BYTES)} at {_RATE_HZ:g}/s that are not recorded, to tmpfs",
        measured=statistics.median(lost),
        unit="frames",
        target=0,
        spread=(min(lost), max(lost)),
        how=f"{runs} runs of {2 * count} frames; lost frames+payloads of each: {', '.join(remarks)}",
    )


def _million(runs: int, count: int) -> Result:
    took: list[float] = []
    lost = unsent = 0
    with _bed(1, _SMALL_BYTES, _SMALL_SLOTS) as bed:
        for _ in range(runs):
            summary, seconds, sent = bed.recorded(_DESCRIPTOR_RATE_HZ, count)
            took.append(seconds)
            # A recorder that joins may hear the last descriptor of before, too: that is none of these.
            lost += max(0, sum(each["sent"] for each in sent) - summary["frames"])
            unsent += sum(each["not_sent"] for each in sent)
    return Result(
        question=f"record {count} descriptors, from the first frame to the whole file",
        measured=statistics.median(took),
        unit="s",
        target=3.0,
        spread=(min(took), max(took)),
        how=f"{runs} runs, offered at {_DESCRIPTOR_RATE_HZ:g}/s; {lost} lost, {unsent} not sent",
    )
