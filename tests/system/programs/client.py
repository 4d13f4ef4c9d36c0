# SPDX-License-Identifier: Apache-2.0
"""A client that works until its media driver, or the client itself, is given up.

It prints ``ready``; then ``ended`` with what each of its calls raised in the end and what they had answered before;
then ``closed``, when ``close()`` has returned. The process ends by itself after that.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from framegate.schema.errors import FramegateError
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Outcome

CHANNEL = "aeron:ipc?term-length=64k"
STREAM = 77
PATIENCE_NS = 50_000_000_000
PAUSE_NS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("publisher", "subscriber", "waiter", "adder"))
    parser.add_argument("--aeron-dir", required=True)
    parser.add_argument("--driver-timeout-ms", type=int, required=True)
    options = parser.parse_args()
    transport = AeronTransport(options.aeron_dir, options.driver_timeout_ms, client_name=options.role)
    calls = _calls(options.role, transport)
    _print(event="ready")
    if options.role == "adder":
        # Its one call is to find a driver that has just died and that nobody has missed yet.
        sys.stdin.readline()
    _print(event="ended", **{name: _until_it_raises(call) for name, call in calls.items()})
    transport.close()
    transport.close()
    _print(event="closed", is_closed=transport.is_closed)


def _calls(role: str, transport: AeronTransport) -> dict[str, Callable[[], object]]:
    """What a role does again and again, by name."""

    def add_publication() -> object:
        return transport.add_publication(CHANNEL, STREAM + 1)

    def add_subscription() -> object:
        return transport.add_subscription(CHANNEL, STREAM + 1)

    adds: dict[str, Callable[[], object]] = {"add_publication": add_publication, "add_subscription": add_subscription}
    if role == "publisher":
        publication = transport.add_publication(CHANNEL, STREAM)
        return {"offer": lambda: publication.offer(b"x" * 16), "claim": lambda: publication.claim(16), **adds}
    if role == "subscriber":
        subscription = transport.add_subscription(CHANNEL, STREAM)
        return {"poll": subscription.poll, **adds, "check_alive": transport.check_alive}
    if role == "waiter":
        # On a stream where nothing comes: one call waits through the death of the driver.
        waiting = transport.add_subscription(CHANNEL, STREAM + 2)
        return {"poll_with_timeout": lambda: waiting.poll(timeout_ns=PATIENCE_NS), **adds}
    return adds


def _until_it_raises(call: Callable[[], object]) -> dict[str, object]:
    """The error that ended it, and the distinct answers before it."""
    answers = set[str]()
    deadline_ns = monotonic_ns() + PATIENCE_NS
    while monotonic_ns() < deadline_ns:
        try:
            answers.add(_name(call()))
        except FramegateError as error:
            return {"error": error.name, "answers": sorted(answers), "text": str(error)}
        sleep_ns(PAUSE_NS)
    return {"error": None, "answers": sorted(answers)}


def _name(answer: object) -> str:
    if isinstance(answer, Outcome):
        return answer.name
    return "position" if isinstance(answer, int) else type(answer).__name__


def _print(**members: object) -> None:
    print(json.dumps(members), flush=True)


if __name__ == "__main__":
    main()
