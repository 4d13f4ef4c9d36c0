# SPDX-License-Identifier: Apache-2.0
"""Recordings to be measured: a driver, native producers and a recorder, each a process of its own."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.shmpool.clock import monotonic_ns

from dev.bench.join_bed import Process
from dev.bench.pool_bed import driver

STREAMS: Final = (10_001, 10_002)


class RecordBed:
    """A driver, producers, and a recorder for each run."""

    def __init__(self, home: Path, producers: list[Process]) -> None:
        self._home = home
        self._producers = producers
        self.folders = (f"{home}/aeron", f"{home}/pool")
        """Of the media driver and of the regions."""
        self._where = ["--aeron-dir", self.folders[0], "--base-dir", self.folders[1]]

    def sent(self, rate_hz: float, count: int) -> list[dict[str, Any]]:
        """So many frames of each; what the producers say."""
        for each in self._producers:
            each.tell({"rate_hz": rate_hz, "count": count})
        return [each.answer() for each in self._producers]

    def recorded(self, rate_hz: float, count: int, *words: str) -> tuple[dict[str, Any], float, list[dict[str, Any]]]:
        """One recording of so many frames of each: its summary, how long it took from the first frame on, and what
        the producers say."""
        file = self._home / "out.mcap"
        streams = ",".join(str(stream) for stream in STREAMS[: len(self._producers)])
        recorder = Process("framegate", "record", str(file), "--streams", streams, *self._where, "--json", *words)
        try:
            recorder.until("ready")
            began_ns = monotonic_ns()
            sent = self.sent(rate_hz, count)
            recorder.send(signal.SIGINT)
            summary = recorder.answer()
            return summary, (monotonic_ns() - began_ns) / 1e9, sent
        finally:
            recorder.close()
            file.unlink(missing_ok=True)


@contextmanager
def record_bed(count: int, frame_bytes: int, slots: int) -> Iterator[RecordBed]:
    """A bed of so many streams; gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-record-", dir="/dev/shm"))
    producers: list[Process] = []
    try:
        with driver(str(home), slots, frame_bytes):
            try:
                for stream in STREAMS[:count]:
                    words = (f"{home}/aeron", f"{home}/pool", str(stream), str(frame_bytes))
                    producers.append(Process("dev.bench.join_load", *words))
                    producers[-1].answer()
                yield RecordBed(home, producers)
            finally:
                for each in producers:
                    each.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)
