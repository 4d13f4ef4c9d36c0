# SPDX-License-Identifier: Apache-2.0
"""Authorities and stages on one in-memory control stream, in simulated time: each is a client that a test turns."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

from framegate.joinbarrier.maps.client import Apply, ClientAction, Invalidate, MapClient, Refused
from framegate.joinbarrier.maps.exchange import MapExchange
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.schema.errors import TwoAuthorities
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.client.member import ControlListener
from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.loopback.faults import NO_FAULTS, Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.shmpool.transport.streams import Streams

STREAMS = Streams(channel="aeron:ipc")
STEP_NS = 20_000_000


class Station:
    """Stands in for a client and its thread: hears the control stream, and turns when it is told to."""

    def __init__(self, network: LoopbackNetwork) -> None:
        self.turn = threading.RLock()
        self.transport = network.client()
        self.conflicts: list[TwoAuthorities] = []
        self._hears = self.transport.add_subscription(STREAMS.channel, STREAMS.control)
        self._listeners: list[ControlListener] = []
        self.exchange = MapExchange(cast(Client, self), on_conflict=self.conflicts.append)

    def listen(self, listener: ControlListener) -> None:
        listener.on_link(cast(Link, SimpleNamespace(transport=self.transport, streams=STREAMS)))
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


class Stage:
    """A stage whose barrier is a variable: it checks that what it is told keeps the order of the protocol."""

    def __init__(self, station: Station, out_stream: int, epoch: int, *, is_by_timestamp: bool = False) -> None:
        self.client = MapClient(out_stream, epoch, ["timestamp" if is_by_timestamp else "sequence"])
        self.station = station
        self.applied: MergeMap | None = None
        self.history: list[MergeMap] = []
        self.refusals = 0
        station.exchange.follow(self.client, self.take)

    def take(self, action: ClientAction) -> None:
        match action:
            case Apply(found):
                assert self.applied is None, "a map was applied over another that still held"
                assert (found.out_stream, found.epoch) == self.client.pair
                assert found.is_by_timestamp is ("timestamp" in self.client.kinds)
                self.applied = found
                self.history.append(found)
            case Invalidate():
                assert self.applied is not None, "there was nothing to stop"
                self.applied = None
            case Refused():
                assert self.applied is None, "a refused map leaves the barrier blocked"
                self.refusals += 1

    def new_epoch(self, epoch: int) -> None:
        self.station.exchange.new_epoch(self.client, epoch)


class MapWorld:
    """The network, its time, and everybody on it."""

    def __init__(self, seed: int = 0, faults: Faults = NO_FAULTS) -> None:
        self.clock = ManualClock()
        self.network = LoopbackNetwork(self.clock, seed=seed, faults=faults)
        self.stations: list[Station] = []

    def station(self) -> Station:
        self.stations.append(Station(self.network))
        return self.stations[-1]

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds * 1e9) // STEP_NS):
            self.clock.advance(STEP_NS)
            for station in self.stations:
                station.work(self.clock())

    def heal(self) -> None:
        """From now on nothing befalls a message."""
        self.network.faults = NO_FAULTS
