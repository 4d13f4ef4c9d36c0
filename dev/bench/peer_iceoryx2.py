# SPDX-License-Identifier: Apache-2.0
"""iceoryx2: samples loaned from shared memory, received without a copy."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from framegate.shmpool.idle import Idler

from dev.bench.peer import Peer, Send, Words


class Iceoryx2(Peer):
    """Publish-subscribe of byte slices. The publisher waits for room; the subscriber polls, backing off."""

    name = "iceoryx2"
    package = "iceoryx2"

    def __enter__(self) -> Peer:
        self._prefix = f"fgbench{os.getpid()}_"
        return self

    def __exit__(self, *exc: object) -> None:
        # Its nodes leave a file each behind when their process ends; the prefix is ours alone.
        for path in Path("/dev/shm").glob(f"{self._prefix}*"):  # noqa: S108  (where iceoryx2 puts them)
            path.unlink(missing_ok=True)

    def _service(self) -> Any:
        iox = importlib.import_module("iceoryx2")
        iox.set_log_level(iox.LogLevel.Error)
        config = iox.config.default()
        config.global_cfg.root_path = iox.Path.new(f"{self.home}/iceoryx2")
        config.global_cfg.prefix = iox.FileName.new(self._prefix)
        node = iox.NodeBuilder.new().config(config).create(iox.ServiceType.Ipc)
        return (
            node.service_builder(iox.ServiceName.new("frames"))
            .publish_subscribe(iox.Slice[ctypes.c_uint8])
            .subscriber_max_buffer_size(self.depth)
            .enable_safe_overflow(False)
            .history_size(0)
            .open_or_create()
        )

    @contextmanager
    def sending(self) -> Iterator[Send]:
        iox = importlib.import_module("iceoryx2")
        service, frame_bytes = self._service(), self.frame_bytes
        publisher = (
            service.publisher_builder()
            .initial_max_slice_len(frame_bytes)
            .backpressure_strategy(iox.BackpressureStrategy.RetryUntilDelivered)
            .create()
        )

        def send(frame: Words) -> None:
            sample = publisher.loan_slice_uninit(frame_bytes)
            ctypes.memmove(sample.payload_ptr, frame.ctypes.data, frame_bytes)
            sample.assume_init().send()

        yield send

    def frames(self) -> Iterator[Words]:
        subscriber, idler = self._service().subscriber_builder().create(), Idler("backoff")
        memory = ctypes.c_uint8 * self.frame_bytes
        while True:
            sample = subscriber.receive()
            if sample is None:
                idler.idle()
                continue
            idler.reset()
            yield np.frombuffer(memory.from_address(sample.payload_ptr), np.uint64)
            sample.delete()
