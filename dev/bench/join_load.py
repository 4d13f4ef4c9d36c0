# SPDX-License-Identifier: Apache-2.0
"""A producer's process for the measurements of a join: frames by a native loop, as each line from the parent says.

Words: AERON_DIR BASE_DIR STREAM FRAME_BYTES. A line is an object: ``count`` frames at ``rate_hz`` (0: as fast as
they go), or, with ``journal``, as fast as a join takes them: never more than ``ahead`` frames before its last row.
With ``cuts``, pairs of seconds and a barrier that follows them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from framegate.joinbarrier.journal.head import Head
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.client.client import connect
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.idle import Idler
from framegate.shmpool.producer.producer import Producer

from framegate._native import PoolProducer, bench_paced, bench_publish

_STUCK_NS: Final = 20_000_000_000


def main(arguments: Sequence[str]) -> int:
    """Serve until the parent closes the pipe."""
    aeron_dir, base_dir, stream, frame_bytes = arguments
    size = int(frame_bytes)
    with connect(aeron_dir, base_dir) as client, client.producer(int(stream), shape=(size,), dtype="uint8") as found:
        producer = cast(PoolProducer, found.native)
        _say("ready")
        for line in sys.stdin:
            order = json.loads(line)
            if "first_cut" in order:
                _say(_cut(found, producer, size, **order))
            elif "cuts" in order:
                _say(_cuts(found, producer, size, **order))
            else:
                _say(_held(producer, size, **order) if "journal" in order else _paced(producer, size, **order))
    return 0


def _paced(producer: PoolProducer, frame_bytes: int, rate_hz: float, count: int) -> dict[str, Any]:
    """All of them, however long it takes: the numbers of two producers stay in step."""
    sent, not_sent, _, _, elapsed_ns = bench_paced(producer, frame_bytes, rate_hz, count=count)
    return {"sent": sent, "not_sent": not_sent, "elapsed_ns": elapsed_ns}


def _cut(
    found: Producer,
    producer: PoolProducer,
    frame_bytes: int,
    rate_hz: float,
    seconds: int,
    first_cut: int,
    cuts_hz: int,
) -> dict[str, Any]:
    """At a rate, with so many barriers a second; ``first_cut`` 0: the same without them."""
    told: dict[str, Any] = {"sent": 0, "not_sent": 0, "elapsed_ns": 0, "cut_ns": []}
    for number in range(seconds * cuts_hz):
        for name, value in _paced(producer, frame_bytes, rate_hz, int(rate_hz) // cuts_hz).items():
            told[name] += value
        if first_cut:
            found.barrier(first_cut + number, 1)
            told["cut_ns"].append(realtime_ns())
    return told


def _cuts(
    found: Producer, producer: PoolProducer, frame_bytes: int, rate_hz: float, cuts: list[tuple[float, int]]
) -> dict[str, Any]:
    """At a rate for the seconds of each, and then its barrier; id 0: none. When each barrier was sent."""
    sent_ns = {}
    for seconds, checkpoint_id in cuts:
        _paced(producer, frame_bytes, rate_hz, int(rate_hz * seconds))
        if checkpoint_id:
            found.barrier(checkpoint_id, 1)
            sent_ns[checkpoint_id] = monotonic_ns()
    return {"sent_ns": sent_ns}


def _held(producer: PoolProducer, frame_bytes: int, journal: str, ahead: int, count: int) -> dict[str, Any]:
    head = Head.open(Path(journal))
    if head is None:
        raise AddTimedOut("the journal has no head", journal=journal)
    idler, began_row, sent = Idler("backoff"), head.next_row, 0
    burst = max(1, ahead // 4)
    began_ns = moved_ns = monotonic_ns()
    while sent < count:
        if sent + burst - (head.next_row - began_row) > ahead:
            idler.idle()
            if monotonic_ns() - moved_ns > _STUCK_NS:
                break
            continue
        sent += bench_publish(producer, frame_bytes, min(burst, count - sent))[1]
        moved_ns = monotonic_ns()
        idler.reset()
    return {"sent": sent, "not_sent": count - sent, "elapsed_ns": monotonic_ns() - began_ns}


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
