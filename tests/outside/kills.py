# SPDX-License-Identifier: Apache-2.0
"""One process of a join is killed again and again, and the books balance at the end.

    python -m tests.outside.kills [COUNT] [VICTIM ...]

VICTIM is ``producer``, ``join``, ``driver`` or ``media-driver``; left out, it is each of them in turn. Whoever was
killed is started again, and the next kill waits for rows of what came after. One line a victim; exit code 1 if a frame
has no fate, or two.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.outside.bed import Bed, Process, until
from tests.outside.rows import newest_row

HZ = 500
SHAPE = "8x8"
WITHIN_S = 60.0
LIVES_S = (0.3, 1.2)


class Scene:
    """A join of two producers that go on until they are told to end."""

    def __init__(self, bed: Bed, name: str) -> None:
        self.bed, self.name = bed, name
        self.dice = random.Random(name)
        self.driver = bed.driver()
        self.streams = bed.streams()
        self.config = bed.lockstep(name, self.streams)
        self.join = bed.join(self.config)
        self.producers = [self._producer(stream) for stream in self.streams]
        self.await_rows()

    def _producer(self, stream: int) -> Process:
        return self.bed.rate(stream, HZ, 100_000_000, SHAPE, is_ready=True)

    def await_rows(self) -> None:
        """Wait until rows are made again, and a little longer."""
        journal = self.bed.journal(self.name)
        there = newest_row(journal)
        until(lambda: newest_row(journal) > there, f"rows behind {there}", WITHIN_S)
        time.sleep(self.dice.uniform(*LIVES_S))

    def kill_producer(self) -> None:
        side = self.dice.randrange(2)
        self.producers[side].kill()
        self.producers[side] = self._producer(self.streams[side])

    def kill_join(self) -> None:
        self.join.kill()
        self.join = self.bed.join(self.config)

    def kill_driver(self) -> None:
        self.driver.kill()
        self.driver = self.bed.driver()

    def kill_media_driver(self) -> None:
        os.kill(media_driver_of(self.driver), signal.SIGKILL)
        self.driver.ended()
        self.driver = self.bed.driver()

    def close(self) -> dict[str, object]:
        """End all, and audit."""
        for each in self.producers:
            each.send(signal.SIGINT)
        for each in self.producers:
            each.ended()
        time.sleep(0.5)
        self.join.interrupted()
        sent = [word for path in self.bed.sent(*self.streams) for word in ("--sent", path)]
        auditor = self.bed.run("audit", self.bed.journal(self.name), *sent, "--json")
        auditor.ended()
        return auditor.says(event="summary")


def media_driver_of(driver: Process) -> int:
    """The process that the driver started to carry messages."""
    found = Path(f"/proc/{driver.pid}/task").glob("*/children")
    [pid] = [int(word) for each in found for word in each.read_text().split()]
    return pid


KILLS: dict[str, Callable[[Scene], None]] = {
    "producer": Scene.kill_producer,
    "join": Scene.kill_join,
    "driver": Scene.kill_driver,
    "media-driver": Scene.kill_media_driver,
}


def main(count: int, victims: list[str]) -> int:
    """Kill each of them so often; 1 if the books of one do not balance."""
    is_balanced = True
    for victim in victims:
        began = time.monotonic()
        with Bed() as bed:
            scene = Scene(bed, victim)
            for _ in range(count):
                KILLS[victim](scene)
                scene.await_rows()
            books = scene.close()
        is_balanced &= not books["unexplained"]
        seconds = round(time.monotonic() - began, 1)
        print(json.dumps({"victim": victim, "kills": count, "seconds": seconds, **books}), flush=True)
    return int(not is_balanced)


if __name__ == "__main__":
    words = argparse.ArgumentParser(prog="python -m tests.outside.kills")
    words.add_argument("count", nargs="?", type=int, default=50)
    words.add_argument("victims", nargs="*", default=list(KILLS), metavar="VICTIM")
    told = words.parse_args()
    sys.exit(main(told.count, told.victims or list(KILLS)))
