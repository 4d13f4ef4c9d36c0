# SPDX-License-Identifier: Apache-2.0
"""What was written into a recording: who wrote what when, by two clocks that differ."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

START_NS = 1_750_000_000_000_000_000
MS = 1_000_000


@dataclass(frozen=True)
class Written:
    """A message: its topic, when it was received, and when it says that it was made."""

    topic: str
    number: int
    log_ns: int
    stamp_ns: int

    @property
    def stamp(self) -> tuple[int, int]:
        """Seconds and nanoseconds."""
        return divmod(self.stamp_ns, 1_000_000_000)


def traffic(seed: int, **topics: tuple[int, float]) -> list[Written]:
    """How many messages of each topic at which period in milliseconds, in the order of their receipt.

    Their distances jitter, and so does how long each takes to be received; no message overtakes another of its topic.
    """
    dice = random.Random(seed)
    found = []
    for name, (count, period_ms) in topics.items():
        period_ns = int(period_ms * MS)
        for k in range(count):
            stamp_ns = START_NS + k * period_ns + dice.randrange(period_ns * 6 // 10)
            found.append(
                Written(f"/{name}", k, stamp_ns + dice.randrange(period_ns // 20, period_ns * 35 // 100), stamp_ns)
            )
    return sorted(found, key=lambda each: each.log_ns)


def shuffled(messages: Iterable[Written], seed: int) -> list[Written]:
    """In an order of no meaning."""
    found = list(messages)
    random.Random(seed).shuffle(found)
    return found


def by_topic(messages: Iterable[Written]) -> list[Written]:
    """One topic after the other."""
    return sorted(messages, key=lambda each: each.topic)


def read_back(path: Path) -> list[Written]:
    """What another program wrote down beside its recording."""
    with path.open() as stream:
        rows = [(row["topic"], int(row["log_ns"]), int(row["stamp_ns"])) for row in csv.DictReader(stream)]
    return [Written(topic, k, log_ns, stamp_ns) for k, (topic, log_ns, stamp_ns) in enumerate(rows)]


def of_topic(messages: Sequence[Written], topic: str) -> list[Written]:
    """Those of one topic, as their sequences count them: in the order of their receipt."""
    return sorted((each for each in messages if each.topic == topic), key=lambda each: each.log_ns)
