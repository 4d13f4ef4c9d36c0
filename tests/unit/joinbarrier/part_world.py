# SPDX-License-Identifier: Apache-2.0
"""A fed engine with its part in checkpoints: the control stream is in memory, the files are real."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from framegate.joinbarrier.agent.checkpoints import JoinCheckpoints
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.restore_choice import Chosen
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema import Message, decode_any
from framegate.schema.control import AckStatus, BarrierAck, PipelineAnnounce
from framegate.schema.errors import JournalFailed
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.client.member import ControlListener
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.shmpool.transport.streams import Streams

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT, CutBench
from tests.unit.watchdog import until

STREAMS = Streams(channel="aeron:ipc")
OPERATOR = "join-20001"
_Said = TypeVar("_Said", bound=Message)


class Station:
    """Stands in for a client and its thread."""

    def __init__(self, network: LoopbackNetwork) -> None:
        self.turn = threading.RLock()
        self._transport = network.client()
        self._hears = self._transport.add_subscription(STREAMS.channel, STREAMS.control)
        self._listeners: list[ControlListener] = []

    def listen(self, listener: ControlListener) -> None:
        listener.on_link(cast(Link, SimpleNamespace(transport=self._transport, streams=STREAMS)))
        self._listeners.append(listener)

    def remove(self, listener: ControlListener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def work(self, now_ns: int) -> None:
        for received in self._hears.poll(1_000):
            for listener in list(self._listeners):
                listener.on_control(received, now_ns)
        for listener in list(self._listeners):
            listener.on_tick(now_ns)


class World:
    """A fed engine, its part in checkpoints, and both ends of a control stream."""

    def __init__(self, path: Path, *, chosen: Chosen | None = None, **tables: Any) -> None:
        network = LoopbackNetwork()
        self.station = Station(network)
        own = network.client()
        self._speaks = own.add_publication(STREAMS.channel, STREAMS.control)
        self._hears = own.add_subscription(STREAMS.channel, STREAMS.control)
        self.bench = CutBench(path / "journal", chosen=chosen, **tables)
        self.bench.takes_news = False
        self.store = CheckpointStore(path / "store")
        self.part = JoinCheckpoints(cast(Client, self.station), self.bench.config, self.bench.folder, self.bench.engine)
        own_map = self.bench.config.merge_map(self.bench.engine.out_epoch())
        if isinstance(own_map, MergeMap):
            self.part.note_map(1, own_map)
        self._said: list[Message] = []

    def say(self, message: Message) -> None:
        assert self._speaks.try_offer(message.encode()) > 0
        self.work()

    def announce(self, *, last: int = 0, current: int = 0, timeout_ms: int = 1000, flags: int = 1) -> None:
        self.say(
            PipelineAnnounce(
                last_checkpoint_id=last,
                current_checkpoint_id=current,
                epoch=1,
                flags=flags,
                alignment_timeout_ms=timeout_ms,
                late_barrier_timeout_ms=10_000,
                operator_timeout_ms=3_000,
                pipeline="default",
                store=self.store.place,
            )
        )

    def work(self) -> None:
        self.station.work(self.bench.now_ns)
        with suppress(JournalFailed):
            # An agent's engine has a slice between two of these; a snapshot may be copied in it. Closed: none any more.
            self.bench.engine.settle(0)
        self.part.work(has_news=True, republisher=None)
        self._said += [decode_any(received.data) for received in self._hears.poll(1_000)]

    def said(self, kind: type[_Said]) -> list[_Said]:
        """What the operator said so far."""
        self.work()
        return [each for each in self._said if isinstance(each, kind)]

    def acks(self, count: int) -> list[tuple[int, AckStatus, str]]:
        """Wait for so many acknowledgements."""
        until(lambda: len(self.said(BarrierAck)) >= count)
        return [(each.checkpoint_id, each.status, each.reason) for each in self.said(BarrierAck)]

    def cut(self, checkpoint_id: int) -> None:
        for stream in (LEFT, RIGHT):
            self.bench.barrier(stream, checkpoint_id)

    def stored(self, checkpoint_id: int) -> None:
        """A coordinator that has heard the second acknowledgement writes the manifest."""
        acks = self.said(BarrierAck)
        until(lambda: any(each.status == AckStatus.COMPLETE for each in self.said(BarrierAck)[len(acks) - 1 :]))
        part = self.store.part(checkpoint_id, OPERATOR)
        manifest = Manifest(
            checkpoint_id=checkpoint_id,
            checkpoint_uuid="018bcfe5-6800-7000-8000-000000000000",
            epoch=1,
            pipeline="default",
            is_unaligned=part.is_unaligned,
            was_threshold_triggered=part.was_threshold_triggered,
            created_ns=1,
            operators=(part.state,),
            inflight_data=part.inflight,
        )
        self.store.commit(manifest)

    def kill(self) -> None:
        """What was not sealed is gone."""
        self.part.close()
        self.bench.kill()
