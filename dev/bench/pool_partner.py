# SPDX-License-Identifier: Apache-2.0
"""The other process of a pool measurement.

``drain`` polls all that comes and looks at nothing. ``read`` validates every frame natively and reports on request.
``aged`` waits for single frames natively and tells how old they were, ``late`` does so in Python.
"""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Sequence
from typing import Any, Final, cast

from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.streams import DEFAULT_CHANNEL, untethered

from dev.bench.pool_bed import DESCRIPTORS, STREAM, opened
from framegate._native import PoolConsumer, bench_ages, bench_poll, bench_read

_TURN: Final = 200_000
_SLICE_S: Final = 0.1
_WAIT_NS: Final = 2_000_000_000
_PATIENCE_S: Final = 10.0


def main(arguments: Sequence[str]) -> int:
    """Serve until the parent ends this process."""
    role, aeron_dir, *words = arguments
    with AeronTransport(aeron_dir, client_name=role) as client:
        match role:
            case "drain":
                _drain(client, int(words[0]))
            case "read":
                _read(client, words[0])
            case "aged":
                _aged(client, *words)
            case _:
                _late(client, *words)
    return 0


def _drain(client: AeronTransport, stream_id: int) -> None:
    """Everything of one stream. Tethered: it holds the sender up, so nothing is lost."""
    heard = client.add_subscription(DEFAULT_CHANNEL, stream_id)
    _say("ready")
    while True:
        bench_poll(cast(Any, heard), _TURN, 256)


def _read(client: AeronTransport, words: str) -> None:
    """Frames as they come; on a line from the parent, once nothing comes any more, what they were."""
    consumer = _consumer(client.add_subscription(untethered(DEFAULT_CHANNEL), DESCRIPTORS), words)
    _say("ready")
    valid = 0
    while True:
        _, seen, now_valid = bench_read(consumer, 1 << 62, 64, False, _SLICE_S)
        valid += now_valid
        if seen or not select.select([sys.stdin], [], [], 0)[0]:
            continue
        if not sys.stdin.readline():
            return
        _say({"valid": valid, **consumer.counters()})
        valid = 0


def _aged(client: AeronTransport, words: str, idle: str) -> None:
    """The ages of as many frames as each line asks for: from the time in the slot to after their validation."""
    consumer = _consumer(client.add_subscription(untethered(DEFAULT_CHANNEL), DESCRIPTORS), words)
    _say("ready")
    while line := sys.stdin.readline():
        _say("listening")
        _say(bench_ages(consumer, int(line), idle, _PATIENCE_S))


def _late(client: AeronTransport, words: str, idle: str) -> None:
    """The ages of as many frames as each line asks for: from the time in the slot to the return of ``poll``."""
    consumer = _consumer(client.add_subscription(untethered(DEFAULT_CHANNEL), DESCRIPTORS, idle=idle), words)
    _say("ready")
    while line := sys.stdin.readline():
        ages: list[int] = []
        _say("listening")
        for _ in range(int(line)):
            frames = consumer.poll(1, _WAIT_NS)
            now_ns = monotonic_ns()
            ages += [now_ns - (frame.timestamp_ns or 0) for frame in frames]
        _say(ages)


def _consumer(heard: Subscription, words: str) -> PoolConsumer:
    consumer = PoolConsumer(cast(Any, heard), STREAM)
    consumer.attach(opened(words))
    return consumer


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
