# SPDX-License-Identifier: Apache-2.0
"""Agents that share a stream cut it at one place, or the checkpoint is given up.

Goal: P10, whatever the order of messages, whatever is lost, whoever dies, starts late or stands in another epoch.
Method: a coordinator, agents with the reference gate, and one way for each message, all stepped at random; afterwards
every checkpoint that is whole was cut by all of its agents behind the same sequence, with every frame taken once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, cast

from framegate.joinbarrier.checkpoint.coordinator.actions import Finish
from framegate.schema import Message
from framegate.schema.control import (
    AckStatus,
    CheckpointAborted,
    HoldIngress,
    IngressCut,
    IngressHello,
    IngressPlace,
    InjectBarrier,
)
from framegate.spec.checkpoint.ingress import IngressGate, Place
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.joinbarrier.coordinator_world import MS, RULES, SECOND, World

STREAMS: Final = (20, 21)
AGENTS: Final = ("a", "b", "c")


@dataclass
class Agent:
    """An agent of all streams: what it hears of each, what it took, and behind what it cut."""

    name: str
    instance: int = 1
    gates: dict[int, IngressGate] = field(default_factory=lambda: {stream: IngressGate() for stream in STREAMS})
    unheard: dict[int, deque[tuple[int, int]]] = field(default_factory=lambda: {each: deque() for each in STREAMS})
    waiting: dict[int, deque[tuple[int, int]]] = field(default_factory=lambda: {each: deque() for each in STREAMS})
    heard: dict[int, Place] = field(default_factory=lambda: dict.fromkeys(STREAMS, (1, None)))
    taken: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: {each: [] for each in STREAMS})
    cuts: dict[tuple[int, int], tuple[int, int] | None] = field(default_factory=dict)
    """By checkpoint and stream: the last frame before its barrier."""
    shared: set[tuple[int, int]] = field(default_factory=set)
    mail: deque[Message] = field(default_factory=deque)

    def hear(self, stream: int) -> int | None:
        """One frame; the checkpoint that it cannot cut there any more."""
        if not self.unheard[stream]:
            return None
        lost: int | None = None
        frame = self.unheard[stream].popleft()
        if self.heard[stream][0] != frame[0]:
            # Its regions went: what it owes it does not deliver any more.
            lost = self.gates[stream].give_up()
            self.drain(stream)
        self.heard[stream] = frame
        self.come(stream, frame)
        return lost

    def come(self, stream: int, frame: tuple[int, int]) -> None:
        passage, checkpoint_id = self.gates[stream].frame(*frame)
        if passage == "wait":
            self.waiting[stream].append(frame)
            return
        if passage == "cut_before":
            self.cut(checkpoint_id, stream)
        self.taken[stream].append(frame)
        if passage == "cut_behind":
            self.cut(checkpoint_id, stream)

    def drain(self, stream: int) -> None:
        while self.waiting[stream] and not self.gates[stream].is_held:
            self.come(stream, self.waiting[stream].popleft())

    def cut(self, checkpoint_id: int, stream: int) -> None:
        self.cuts.setdefault((checkpoint_id, stream), self.taken[stream][-1] if self.taken[stream] else None)

    def obey(self, message: Message) -> IngressPlace | str | None:
        """What it says to one message of the coordinator."""
        match message:
            case HoldIngress():
                return self.hold(message)
            case IngressCut():
                at = message.source_epoch, message.after_seq
                stream = message.stream_id
                answer = self.gates[stream].cut(message.checkpoint_id, at, self.heard[stream])
                if answer != "over":
                    self.shared.add((message.checkpoint_id, stream))
                if answer == "cut":
                    self.cut(message.checkpoint_id, stream)
                self.drain(stream)
                return answer if answer in ("past", "other_epoch") else None
            case InjectBarrier():
                for stream in STREAMS:
                    if (message.checkpoint_id, stream) not in self.shared:
                        self.cut(message.checkpoint_id, stream)
            case CheckpointAborted():
                for stream in STREAMS:
                    self.gates[stream].give_up(message.checkpoint_id)
                    self.drain(stream)
        return None

    def hold(self, message: HoldIngress) -> IngressPlace | None:
        stream = message.stream_id
        place = self.gates[stream].hold(message.checkpoint_id, self.heard[stream], 0)
        if place is None:
            return None
        self.shared.add((message.checkpoint_id, stream))
        return IngressPlace(
            checkpoint_id=message.checkpoint_id,
            epoch=message.epoch,
            stream_id=stream,
            source_epoch=place[0],
            after_seq=place[1],
            pipeline=message.pipeline,
            operator_id=self.name,
        )

    def has_cut(self, checkpoint_id: int) -> bool:
        return all((checkpoint_id, stream) in self.cuts for stream in STREAMS)


class Shared(World):
    """A coordinator, its agents, and their streams."""

    def __init__(self) -> None:
        super().__init__(RULES)
        self.agents = {name: Agent(name) for name in AGENTS}
        self.next = dict.fromkeys(STREAMS, (1, 0))
        self.whole: dict[int, dict[str, dict[int, tuple[int, int] | None]]] = {}
        self.said_to_coordinator = deque[Message]()
        self.asked = 0
        self.tick(RULES.operator_timeout_ns)
        for name in AGENTS:
            self.greet(name)
        self.post()

    # --- who says what ------------------------------------------------------------------------------------

    def greet(self, name: str) -> None:
        agent = self.agents[name]
        for stream in STREAMS:
            self.hear(IngressHello(instance_id=agent.instance, stream_id=stream, pipeline="default", operator_id=name))
        self.hello(name, agent.instance)

    def post(self) -> None:
        """What the coordinator said is on its way to everybody."""
        for message in self.said:
            if isinstance(message, HoldIngress | IngressCut | InjectBarrier | CheckpointAborted):
                for agent in self.agents.values():
                    agent.mail.append(message)
        self.said.clear()

    def play_frame(self, stream: int, gap: int) -> None:
        epoch, seq = self.next[stream]
        self.next[stream] = epoch, seq + 1 + gap
        for agent in self.agents.values():
            agent.unheard[stream].append((epoch, seq + gap))

    def play_epoch(self, stream: int) -> None:
        self.next[stream] = self.next[stream][0] + 1, 0

    def play_lose_frame(self, name: str, stream: int) -> None:
        unheard = self.agents[name].unheard[stream]
        if unheard:
            unheard.pop()

    def play_hear(self, name: str, stream: int) -> None:
        lost = self.agents[name].hear(stream)
        if lost is not None:
            self.ack(name, AckStatus.FAILED, checkpoint_id=lost, reason="INPUT_LOST: its epoch is over")
            self.post()

    def play_mail(self, name: str) -> None:
        agent = self.agents[name]
        if not agent.mail:
            return
        message = agent.mail.popleft()
        answer = agent.obey(message)
        if isinstance(answer, str):
            checkpoint_id = cast(IngressCut, message).checkpoint_id
            self.ack(name, AckStatus.FAILED, checkpoint_id=checkpoint_id, reason=answer)
        elif answer is not None:
            self.said_to_coordinator.append(answer)
        self.post()

    def play_lose_mail(self, name: str) -> None:
        if self.agents[name].mail:
            self.agents[name].mail.popleft()

    def play_place(self) -> None:
        if self.said_to_coordinator:
            self.hear(self.said_to_coordinator.popleft())
            self.post()

    def play_swap(self) -> None:
        self.said_to_coordinator.rotate()

    def play_lose_place(self) -> None:
        if self.said_to_coordinator:
            self.said_to_coordinator.popleft()

    def play_die(self, name: str) -> None:
        """Another life, which has heard everything until now and held nothing."""
        before = self.agents[name]
        heard = {stream: _last(before, stream) for stream in STREAMS}
        self.agents[name] = Agent(name, before.instance + 1, heard=heard)
        self.greet(name)
        self.post()

    def play_trigger(self) -> None:
        self.asked += 1
        self.trigger(self.asked)
        while self.orders:
            self.answer()
        self.post()

    def play_time(self, delta_ns: int) -> None:
        for name in AGENTS:
            self.greet(name)
        self.tick(delta_ns)
        for name in AGENTS:
            self.greet(name)
        while self.orders:
            self.answer()
        self.post()

    def play_done(self, name: str) -> None:
        """It acknowledges what it has cut."""
        attempt = self.coordinator.attempt
        if attempt is None or not self.agents[name].has_cut(attempt.checkpoint_id):
            return
        self.acks(name)
        self.post()
        for order in [each for each in self.orders if isinstance(each, Finish)]:
            names = [operator for operator, _ in order.acknowledged]
            self.whole[order.checkpoint_id] = {
                each: {stream: self.agents[each].cuts[order.checkpoint_id, stream] for stream in STREAMS}
                for each in names
            }
            self.answer()
        self.post()


def _last(agent: Agent, stream: int) -> Place:
    everything = [*agent.taken[stream], *agent.waiting[stream], *agent.unheard[stream]]
    return everything[-1] if everything else agent.heard[stream]


_names = st.sampled_from(AGENTS)
_streams = st.sampled_from(STREAMS)
STEPS: Final = st.one_of(
    st.tuples(st.just("frame"), _streams, st.sampled_from([0, 0, 0, 2])),
    st.tuples(st.just("hear"), _names, _streams),
    st.tuples(st.just("hear"), _names, _streams),
    st.tuples(st.just("mail"), _names),
    st.tuples(st.just("mail"), _names),
    st.tuples(st.just("place")),
    st.tuples(st.just("place")),
    st.tuples(st.just("trigger")),
    st.tuples(st.just("done"), _names),
    st.tuples(st.just("swap")),
    st.tuples(st.just("time"), st.sampled_from([1, 300 * MS, 2 * SECOND])),
    st.sampled_from([("lose_place",), ("lose_mail", "a"), ("die", "b"), ("epoch", 20), ("lose_frame", "c", 21)]),
)


def settle(world: Shared) -> None:
    """Everything on its way arrives, and whoever can acknowledges."""
    for _ in range(8):
        for name, agent in world.agents.items():
            while agent.mail:
                world.play_mail(name)
            for stream in STREAMS:
                while agent.unheard[stream]:
                    world.play_hear(name, stream)
        while world.said_to_coordinator:
            world.play_place()
        for name in AGENTS:
            world.play_done(name)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=80))
def test_p10_all_cut_at_one_place_or_the_checkpoint_is_given_up(script: list[tuple[Any, ...]]) -> None:
    world = Shared()
    for step in script:
        getattr(world, f"play_{step[0]}")(*step[1:])
    # Liveness: once nothing is lost any more, a checkpoint becomes whole.
    before = len(world.whole)
    for _ in range(4):
        world.play_time(2 * SECOND)
        for stream in STREAMS:
            world.play_frame(stream, 0)
        settle(world)
        world.play_trigger()
        for stream in STREAMS:
            world.play_frame(stream, 0)
            world.play_hear("a", stream)
        settle(world)
    assert len(world.whole) > before
    for agent in world.agents.values():
        for taken in agent.taken.values():
            assert taken == sorted(set(taken))
    for cuts in world.whole.values():
        check_one_place(world, cuts)


def check_one_place(world: Shared, cuts: dict[str, dict[int, tuple[int, int] | None]]) -> None:
    """No frame that one agent has in its state came to another one behind its barrier."""
    for stream in STREAMS:
        places = {name: cut[stream] for name, cut in cuts.items()}
        highest = max((place for place in places.values() if place is not None), default=None)
        for name, place in places.items():
            if place != highest and highest is not None:
                after = place or (0, -1)
                between = [each for each in world.agents[name].taken[stream] if after < each <= highest]
                assert between == [], (stream, places)
