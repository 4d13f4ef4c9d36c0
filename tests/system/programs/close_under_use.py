# SPDX-License-Identifier: Apache-2.0
"""Closes a transport while another thread uses it, many times, and prints what the other thread got.

A process of its own, because the failure to look for is a crash.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Final

import numpy as np
from framegate.schema.errors import ClaimStillViewed, FramegateError
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Outcome, Publication, RecordKind

CHANNEL: Final = "aeron:ipc?term-length=64k"
STREAM: Final = 77
ROUNDS: Final = 12
PATIENCE_S: Final = 50
KIND: Final = RecordKind(block_length=40, template_id=1, schema_id=900, version=1, reads_newer=False)


class Use:
    """One thing that a thread does to a transport until it ends."""

    def __init__(self, name: str, transport: AeronTransport) -> None:
        self.transport = transport
        self.is_going_on = threading.Event()
        self.got = ""
        self._added: Publication | None = None
        self._call: Callable[[], object] = getattr(self, f"_{name}")()
        self._thread = threading.Thread(target=self._go_on)

    def begin(self) -> None:
        self._thread.start()
        if not self.is_going_on.wait(PATIENCE_S):
            raise TimeoutError(self.got)

    def end(self) -> str:
        """What the thread got. Something that it added in the last moment must be closed too."""
        self._thread.join()
        is_open = self._added is not None and not self._added.is_closed
        return f"{self.got}, and an open publication" if is_open else self.got

    def _go_on(self) -> None:
        try:
            while self._call() is not Outcome.CLOSED:
                self.is_going_on.set()
            self.got = "Outcome.CLOSED"
        except FramegateError as error:
            self.got = error.name
        except BaseException as error:
            self.got = repr(error)

    def _wait(self) -> Callable[[], object]:
        subscription = self.transport.add_subscription(CHANNEL, STREAM)
        # The one wait is what the close is to interrupt, so the thread counts as going on before it.
        self.is_going_on.set()
        return lambda: subscription.poll(timeout_ns=PATIENCE_S * 1_000_000_000)

    def _poll(self) -> Callable[[], object]:
        return self._busy(self.transport.add_subscription(CHANNEL, STREAM).poll)

    def _poll_records(self) -> Callable[[], object]:
        room = np.zeros(64, dtype=np.dtype("V40"))
        subscription = self.transport.add_subscription(CHANNEL, STREAM)
        return self._busy(lambda: subscription.poll_records(KIND, room, timeout_ns=1_000_000))

    def _offer(self) -> Callable[[], object]:
        publication = self.transport.add_publication(CHANNEL, STREAM)
        return self._busy(lambda: publication.offer(b"x" * 48))

    def _claim(self) -> Callable[[], object]:
        publication = self.transport.add_publication(CHANNEL, STREAM)

        def claim() -> object:
            claimed = publication.claim(48)
            if not isinstance(claimed, Outcome):
                with claimed as room:
                    room[:] = bytes(48)
            return claimed

        return self._busy(claim)

    def _busy(self, call: Callable[[], object]) -> Callable[[], object]:
        """The call, with messages on the stream for it to find, or room for those that it sends."""
        self._other_end = self.transport.add_subscription(CHANNEL, STREAM)
        sender = self.transport.add_publication(CHANNEL, STREAM)

        def busy() -> object:
            sender.try_offer(bytes(48))
            answer = call()
            if not self._other_end.is_closed:
                self._other_end.image_events()
                self._other_end.counters()
            return answer

        return busy

    def _add(self) -> Callable[[], object]:
        def add() -> None:
            self._added = self.transport.add_publication(CHANNEL, STREAM)

        return add

    def _ask(self) -> Callable[[], object]:
        subscription = self.transport.add_subscription(CHANNEL, STREAM)
        publication = self.transport.add_publication(CHANNEL, STREAM)

        def ask() -> object:
            asked = subscription.image_count, subscription.is_connected, publication.is_connected, publication.position
            return Outcome.CLOSED if subscription.is_closed and publication.is_closed else asked

        return ask


def main(name: str, aeron_dir: str) -> None:
    got = {_round(name, aeron_dir) for _ in range(ROUNDS)}
    print(json.dumps({"event": "done", "got": sorted(got)}), flush=True)


def _round(name: str, aeron_dir: str) -> str:
    transport = AeronTransport(aeron_dir)
    use = Use(name, transport)
    use.begin()
    while not transport.is_closed:
        try:
            transport.close()
        except ClaimStillViewed:
            continue
    return use.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
