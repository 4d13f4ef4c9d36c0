# SPDX-License-Identifier: Apache-2.0
"""One run: senders and receivers on a faulty network, moved on step by step by one seeded generator.

What is checked at the end holds for every run: each receiver got each session's messages in order, none twice that the
network did not double, and none is missing that the network did not count as lost.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from framegate.shmpool.clock import ManualClock
from framegate.shmpool.transport.interface import Outcome, Publication, Received, Subscription
from framegate.shmpool.transport.loopback.faults import FaultRule, Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

CHANNEL: Final = "aeron:ipc?term-length=64k"
STREAM: Final = 5
STEPS: Final = 2_000
_LONGEST_DELAY_NS: Final = 5_000_000


class Broken(AssertionError):
    """A checker found what must not be."""


@dataclass
class Sender:
    """A publication and what it managed to send."""

    publication: Publication
    sent: list[int] = field(default_factory=list)
    tried: int = 0


@dataclass
class Receiver:
    """A subscription and what it got, by session."""

    subscription: Subscription
    got: dict[int, list[int]] = field(default_factory=dict)

    def take(self, messages: list[Received]) -> None:
        """Note what came."""
        for message in messages:
            self.got.setdefault(message.session_id, []).append(int.from_bytes(message.data[:8], "little"))


class World:
    """Everything that a seed decides."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.clock = ManualClock()
        rule = FaultRule(
            loss=self.chance.choice((0.0, 0.01, 0.2)),
            duplicate=self.chance.choice((0.0, 0.01, 0.2)),
            delay_ns=(0, self.chance.choice((0, _LONGEST_DELAY_NS))),
        )
        self.network = LoopbackNetwork(self.clock, seed=seed, faults=Faults((rule,)))
        client = self.network.client()
        self.receivers = [Receiver(client.add_subscription(CHANNEL, STREAM)) for _ in range(self.chance.randint(1, 3))]
        self.senders = [Sender(client.add_publication(CHANNEL, STREAM)) for _ in range(self.chance.randint(1, 4))]

    def run(self, steps: int = STEPS) -> None:
        """Move on at random, then let everything arrive, then check."""
        for _ in range(steps):
            self.chance.choice((self._send, self._send, self._receive, self._wait))()
        self._settle()
        self.check()

    def _send(self) -> None:
        sender = self.chance.choice(self.senders)
        number = sender.tried
        sender.tried += 1
        message = number.to_bytes(8, "little") + bytes(self.chance.choice((0, 24, 1_000, 4_000)))
        answer = sender.publication.offer(message)
        if answer > 0:
            sender.sent.append(number)
        elif answer != Outcome.BACK_PRESSURED:
            raise Broken(f"an offer to live receivers answered {Outcome(answer).name}")
        if self.chance.random() < 0.01:
            self.network.force_outcome(Outcome.ADMIN_ACTION)

    def _receive(self) -> None:
        receiver = self.chance.choice(self.receivers)
        receiver.take(receiver.subscription.poll(self.chance.randint(1, 50)))

    def _wait(self) -> None:
        self.clock.advance(self.chance.randint(0, 1_000_000))

    def _settle(self) -> None:
        self.clock.advance(2 * _LONGEST_DELAY_NS)
        for receiver in self.receivers:
            while messages := receiver.subscription.poll(1_000):
                receiver.take(messages)

    def check(self) -> None:
        """Order, no doubles of our own, and every missing message accounted for."""
        missing, doubled = 0, 0
        for receiver in self.receivers:
            for sender in self.senders:
                got = receiver.got.get(sender.publication.session_id, [])
                if got != sorted(got):
                    raise Broken(f"session {sender.publication.session_id} is out of order")
                often = Counter(got)
                if strangers := set(often) - set(sender.sent):
                    raise Broken(f"messages that nobody sent: {sorted(strangers)[:5]}")
                missing += len(sender.sent) - len(often)
                doubled += sum(often.values()) - len(often)
        faults = self.network.counters()
        if (missing, doubled) != (faults["lost"], faults["duplicated"]):
            owned = f"the network owns up to {faults['lost']} and {faults['duplicated']}"
            raise Broken(f"missing {missing} and doubled {doubled}, {owned}")


class CanaryWorld(World):
    """A world whose receiver drops a message and tells nobody. Its check must fail, or the checkers sleep."""

    def _receive(self) -> None:
        receiver = self.chance.choice(self.receivers)
        receiver.take(receiver.subscription.poll(self.chance.randint(1, 50))[1:])
