# SPDX-License-Identifier: Apache-2.0
"""A producer with gaps in its numbers that says, at its end, which frames it announced.

Words on its standard input: ``end`` ends the stream and keeps the lease, ``close`` says what was sent and ends the
process, ``report WORD`` says what was sent so far. Frames carry the counter pattern.
"""

from __future__ import annotations

import json
import random
import select
import sys

import numpy as np
from framegate.schema.errors import AttachRefused, NotAttached
from framegate.shmpool.client.client import Client, connect
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.pattern import Pattern
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.producer.producer import Producer

SHAPE = (16, 32)
LEASE_PATIENCE_NS = 30_000_000_000
PAUSE_NS = 200_000_000


class Sender:
    """One stream's frames, by the clock."""

    def __init__(self, producer: Producer, plan: dict[str, float]) -> None:
        self.producer = producer
        self.frames = 0
        self.sent: dict[int, list[list[int]]] = {}
        self.unannounced: dict[int, list[list[int]]] = {}
        """Frames that lie in the ring, and whose descriptor found no room: a reader may recover them."""
        self._plan = plan
        self._chance = random.Random(plan.get("seed", 0))
        self._pattern = Pattern("counter", stream=producer.stream_id, payload_bytes=SHAPE[0] * SHAPE[1])
        self._frame = np.zeros(SHAPE, np.uint8)
        self._epoch = producer.epoch
        self._next = int(plan.get("first", 0))
        self._step = int(plan.get("step", 1))
        self._unannounced = 0

    def send(self) -> int:
        """The next frame, or nothing: a gap. How many numbers that took, which are as many turns."""
        if self._chance.random() < self._plan.get("gaps", 0.0):
            left_out = 1 + self._chance.randrange(3)
            self._next += left_out
            return left_out
        epoch = self.producer.epoch
        if epoch is not None and epoch != self._epoch:
            self._epoch, self._next = epoch, 0
        self._pattern.fill(self._frame.reshape(-1), self._next)
        try:
            seq = self.producer.publish(self._frame, seq=self._next)
        except NotAttached:
            return 1
        self._next = seq + self._step
        given_up = self.producer.counters()["descriptors_lost"]
        if self._epoch is not None:
            self._note(self.sent if given_up == self._unannounced else self.unannounced, self._epoch, seq)
        self._unannounced = given_up
        self.frames += 1
        return 1

    def _note(self, known: dict[int, list[list[int]]], epoch: int, seq: int) -> None:
        ranges = known.setdefault(epoch, [])
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])


def main(aeron_dir: str, base_dir: str, words: str) -> None:
    plan = json.loads(words)
    with connect(aeron_dir, base_dir) as client:
        producer = _attached(client, plan["stream"])
        _say(event="ready", epoch=producer.epoch)
        producer.wait_consumers(plan.get("consumers", 1))
        _say(event="began")
        sender = Sender(producer, plan)
        _run(sender, interval_ns=int(1e9 / plan.get("rate", 500)), count=plan.get("count", sys.maxsize))
        _say(event="sent", ranges=sender.sent, unannounced=sender.unannounced)
        producer.close()


def _attached(client: Client, stream: int) -> Producer:
    """The stream's producer. A predecessor that was killed stands in the way until its lease expires."""
    deadline_ns = monotonic_ns() + LEASE_PATIENCE_NS
    while True:
        try:
            return client.producer(stream, shape=SHAPE, dtype="uint8")
        except AttachRefused:
            if monotonic_ns() > deadline_ns:
                raise
            sleep_ns(PAUSE_NS)


def _run(sender: Sender, interval_ns: int, count: int) -> None:
    due_ns = monotonic_ns()
    is_over = False
    while True:
        word = _word(timeout_s=max(0.0, (due_ns - monotonic_ns()) / 1e9) if not is_over else 0.1)
        if word == "close":
            return
        if word.startswith("report"):
            _say(event="report", word=word, ranges=sender.sent)
        elif word == "end" or (sender.frames == count and not is_over):
            sender.producer.end()
            is_over = True
            _say(event="ended")
        elif not word and not is_over and monotonic_ns() >= due_ns:
            due_ns += interval_ns * sender.send()


def _word(timeout_s: float) -> str:
    if not select.select([sys.stdin], [], [], timeout_s)[0]:
        return ""
    return sys.stdin.readline().strip() or "close"


def _say(**members: object) -> None:
    print(json.dumps(members), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
