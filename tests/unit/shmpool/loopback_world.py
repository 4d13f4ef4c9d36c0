# SPDX-License-Identifier: Apache-2.0
"""The small world of the in-memory network's tests: a manual clock, a pair on it, numbered messages."""

from __future__ import annotations

from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.loopback.faults import FaultRule, Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork
from framegate.shmpool.transport.loopback.publication import LoopbackClaim, LoopbackPublication
from framegate.shmpool.transport.loopback.subscription import LoopbackSubscription

CHANNEL = "aeron:ipc"
STREAM = 7
MS = 1_000_000


def network_with(*rules: FaultRule, seed: int = 0, window_bytes: int | None = None) -> LoopbackNetwork:
    return LoopbackNetwork(ManualClock(), seed=seed, faults=Faults(rules), window_bytes=window_bytes)


def pair(network: LoopbackNetwork, stream_id: int = STREAM) -> tuple[LoopbackPublication, LoopbackSubscription]:
    client = network.client()
    subscription = client.add_subscription(CHANNEL, stream_id)
    return client.add_publication(CHANNEL, stream_id), subscription


def send(publication: LoopbackPublication, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        assert publication.offer(b"%d" % number) > 0


def numbers(subscription: Subscription) -> list[int]:
    return [int(message.data) for message in subscription.poll(100_000)]


def advance(network: LoopbackNetwork, delta_ns: int) -> None:
    assert isinstance(network.clock, ManualClock)
    network.clock.advance(delta_ns)


def claimed(publication: LoopbackPublication, length: int) -> LoopbackClaim:
    claim = publication.claim(length)
    assert isinstance(claim, LoopbackClaim)
    return claim
