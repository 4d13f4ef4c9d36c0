# SPDX-License-Identifier: Apache-2.0
"""A consumer that reads until the stream's end and tells, twenty times a second, what it has counted."""

from __future__ import annotations

import json
import sys

from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns

_EVERY_NS = 50_000_000


def main(aeron_dir: str, base_dir: str, stream: str) -> None:
    """Read to the end."""
    with connect(aeron_dir, base_dir) as client, client.consumer(int(stream)) as consumer:
        say_at_ns = 0
        while not consumer.has_finished():
            consumer.poll(1_000, timeout_s=0.02)
            if monotonic_ns() >= say_at_ns:
                say_at_ns = monotonic_ns() + _EVERY_NS
                _say("counted", consumer.counters(), consumer.attaches)
        _say("ended", consumer.counters(), consumer.attaches)


def _say(event: str, counters: dict[str, int], attaches: int) -> None:
    told = {name: counters[name] for name in ("frames", "gap_drops", "late_drops")}
    unread = sum(counters[name] for name in ("unmapped", "other_epoch"))
    print(json.dumps({"event": event, **told, "unread": unread, "attaches": attaches}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
