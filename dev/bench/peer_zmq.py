# SPDX-License-Identifier: Apache-2.0
"""ZeroMQ over an ipc socket: PUSH/PULL, which waits for the consumer, and PUB/SUB, which does not."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from dev.bench.peer import STUCK_S, Peer, Send, Words


class PushPull(Peer):
    """Sent with a copy, because the frame is written again at once; received without one."""

    name = "pyzmq PUSH/PULL"
    package = "zmq"
    _kinds: ClassVar[tuple[str, str]] = ("PUSH", "PULL")

    @contextmanager
    def _socket(self, kind: str) -> Iterator[Any]:
        zmq = importlib.import_module("zmq")
        with zmq.Context() as context, context.socket(getattr(zmq, kind)) as socket:
            socket.linger = 0
            socket.set_hwm(self.depth)
            socket.sndtimeo = socket.rcvtimeo = int(STUCK_S * 1e3)
            yield socket

    @contextmanager
    def sending(self) -> Iterator[Send]:
        with self._socket(self._kinds[0]) as socket:
            socket.connect(f"ipc://{self.home}/zmq")
            yield socket.send

    def frames(self) -> Iterator[Words]:
        with self._socket(self._kinds[1]) as socket:
            if self._kinds[1] == "SUB":
                socket.subscribe(b"")
            socket.bind(f"ipc://{self.home}/zmq")
            while True:
                yield np.frombuffer(socket.recv(copy=False), np.uint64)


class PublishSubscribe(PushPull):
    """Lossy: what does not fit the queues is dropped by the publisher."""

    name = "pyzmq PUB/SUB"
    _kinds = ("PUB", "SUB")
