# SPDX-License-Identifier: Apache-2.0
"""Agents that share a stream whose producer cannot inject: real agents, a real coordinator, one living stream (P10)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema import Message
from framegate.schema.control import IngressPlace
from framegate.schema.errors import DONE, FAILED
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.producer.producer import Producer
from framegate.shmpool.transport.interface import Received

from tests.system.checkpoint_bed import PATIENT, CheckpointBed, outcome
from tests.system.join_bed import LEFT, OUT, RIGHT, interrupted, killed

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

OTHER = OUT + 1
OUTS = {"first": OUT, "second": OTHER}
PAUSE_S = 0.0005


@pytest.fixture
def bed(system: System, shm: Path) -> CheckpointBed:
    return CheckpointBed(system, shm, more=PATIENT, slots=1024, alignment_timeout_ms=20_000, operator_timeout_ms=4_000)


def shared(bed: CheckpointBed, name: str) -> Path:
    """One agent of the shared stream, and of another one whose producer does inject."""
    left = f'[[input]]\nname = "left"\nstream = {LEFT}\n'
    right = f'[[input]]\nname = "right"\nstream = {RIGHT}\nbarrier = "ingress"\n'
    join = f'[join]\nout_stream = {OUTS[name]}\npolicy = "union"\njournal = JOURNAL\n'
    return bed.configure(f"{join}{left}{right}", name)


def alone(bed: CheckpointBed, name: str) -> Path:
    """One agent of the shared stream and of nothing else."""
    right = f'[[input]]\nname = "right"\nstream = {RIGHT}\nbarrier = "ingress"\n'
    return bed.configure(f'[join]\nout_stream = {OUTS[name]}\npolicy = "union"\njournal = JOURNAL\n{right}', name)


@contextmanager
def flowing(bed: CheckpointBed, producer: Producer) -> Iterator[None]:
    """Frames without end, some thousand a second: between two slices of an agent's engine come some dozen."""
    is_over = threading.Event()

    def publish() -> None:
        for seq in count():
            if is_over.wait(PAUSE_S):
                return
            bed.publish(producer, seq)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def begin(bed: CheckpointBed, client: Client) -> tuple[Producer, Program, Program]:
    """The shared stream's producer, and both agents, which hear it."""
    right = bed.pool.producer(client, RIGHT, pipeline=None)
    first, second = (bed.join(alone(bed, name)) for name in OUTS)
    bed.pool.wait_ready(right, 2)
    return right, first, second


class Ear:
    """Hears where agents say that they stand."""

    def __init__(self, client: Client) -> None:
        self.heard: dict[str, int] = {}
        with client.turn:
            client.listen(self)

    def on_message(self, message: Message, _now_ns: int) -> None:
        if isinstance(message, IngressPlace) and message.after_seq is not None:
            self.heard[message.operator_id] = message.after_seq

    def on_link(self, link: Link) -> None: ...

    def on_link_lost(self, reason: str) -> None: ...

    def on_control(self, received: Received, now_ns: int) -> None: ...

    def on_tick(self, now_ns: int) -> None: ...

    def close(self) -> None: ...


def places(bed: CheckpointBed, checkpoint_id: int) -> dict[str, tuple[int | None, int | None]]:
    """Where each operator of a whole checkpoint cut the shared stream."""
    store = CheckpointStore(bed.store)
    assert list(store.problems(checkpoint_id)) == []
    manifest = store.manifest(checkpoint_id)
    return {each.operator_id: (cut["epoch"], cut["last_seq"]) for each in manifest.operators for cut in each.ingress}


def whole(bed: CheckpointBed) -> int:
    """A checkpoint whose agents have answered in time: on a busy machine that need not be the first."""
    for _ in range(10):
        asking, (checkpoint_id, _) = bed.trigger()
        if asking.wait() == DONE:
            return checkpoint_id
    pytest.fail(f"none of ten checkpoints became whole: {asking}")


def right_rows(bed: CheckpointBed, name: str) -> dict[int, int]:
    """The checkpoint of each row of the shared stream, by the frame's sequence."""
    found = {}
    for row in bed.rows(name):
        if row.inputs["right"].status == "present":
            assert row.inputs["right"].seq not in found
            found[row.inputs["right"].seq] = row.checkpoint_id
    return found


def test_p10_two_agents_cut_a_living_stream_at_one_and_the_same_sequence(bed: CheckpointBed) -> None:
    """The rows say it too: up to the place they carry the checkpoint before, behind it this one, in both journals."""
    with bed.pool.client() as client:
        left = bed.pool.producer(client, LEFT, pipeline="default")
        right = bed.pool.producer(client, RIGHT, pipeline=None)
        agents = {name: bed.join(shared(bed, name)) for name in OUTS}
        for producer in (left, right):
            bed.pool.wait_ready(producer, len(agents))
        bed.publish(left, 0)
        cuts: dict[int, int] = {}
        with flowing(bed, right):
            for _ in range(3):
                asking, (checkpoint_id, _) = bed.trigger()
                assert asking.wait() == DONE, asking
                found = places(bed, checkpoint_id)
                assert set(found) == {f"join-{out}" for out in OUTS.values()}
                assert len(set(found.values())) == 1, found
                place = found[f"join-{OUT}"][1]
                assert place is not None
                cuts[checkpoint_id] = place
            last = max(cuts.values())
            for name, agent in agents.items():
                bed.until_rows(agent, last + 2, name)
        summaries = [interrupted(agent) for agent in agents.values()]
    assert list(cuts.values()) == sorted(set(cuts.values()))
    for name, summary in zip(OUTS, summaries, strict=True):
        assert summary["checkpoints"]["ingress_holds"] == len(cuts)
        assert summary["overwritten"]["right"] == 0
        rows = right_rows(bed, name)
        assert sorted(rows) == list(range(len(rows)))
        for seq, checkpoint_id in rows.items():
            assert checkpoint_id == max((each for each, place in cuts.items() if place < seq), default=0), seq


def test_p10_who_was_behind_comes_to_the_place_of_the_other_before_it_cuts(system: System, shm: Path) -> None:
    """What the other one hears meanwhile waits: the place does not move from where it stood when it said so."""
    bed = CheckpointBed(system, shm, more=PATIENT, alignment_timeout_ms=20_000, operator_timeout_ms=8_000)
    with bed.pool.client() as client:
        right, first, second = begin(bed, client)
        # A coordinator that has just begun waits for those who were there before it: not while one of them stands.
        before = whole(bed)
        bed.publish(right, 0)
        for name, agent in zip(OUTS, (first, second), strict=True):
            bed.until_rows(agent, 1, name)
        system.suspend(first.pid)
        bed.publish(right, 1, 2, 3)
        bed.until_rows(second, 4, "second")
        standing = Ear(client)
        asking, (checkpoint_id, _) = bed.trigger()
        asking.until(lambda: f"join-{OTHER}" in standing.heard, "the second one stands")
        # The second one does not take them before it knows the place.
        bed.publish(right, 4, 5)
        first.send(signal.SIGCONT)
        assert asking.wait() == DONE, asking
        for name, agent in zip(OUTS, (first, second), strict=True):
            bed.until_rows(agent, 6, name)
        for agent in (first, second):
            interrupted(agent)
    cut = max(standing.heard.values())
    assert {seq for _, seq in places(bed, checkpoint_id).values()} == {cut}
    for name in OUTS:
        rows = right_rows(bed, name)
        assert sorted(rows) == list(range(6))
        assert {seq for seq, each in rows.items() if each == before} == set(range(cut + 1))


def test_p10_who_does_not_say_where_it_stands_is_named_and_holds_nobody_for_longer(system: System, shm: Path) -> None:
    bed = CheckpointBed(system, shm, more=PATIENT, alignment_timeout_ms=1_000, operator_timeout_ms=4_000)
    with bed.pool.client() as client:
        right, first, second = begin(bed, client)
        bed.publish(right, 0)
        system.suspend(first.pid)
        asking, _ = bed.trigger()
        assert asking.wait() == FAILED, asking
        assert outcome(asking)["message"].count(f"join-{OUT}") == 1, asking
        bed.publish(right, 1, 2)
        bed.until_rows(second, 3, "second")
        first.send(signal.SIGCONT)
        bed.until_rows(first, 3, "first")
        checkpoint_id = whole(bed)
        for agent in (first, second):
            interrupted(agent)
    assert {seq for _, seq in places(bed, checkpoint_id).values()} == {2}


def test_p10_an_agent_that_dies_while_the_other_stands_ends_the_checkpoint_and_the_next_one_is_whole(
    bed: CheckpointBed, system: System
) -> None:
    with bed.pool.client() as client:
        right, first, second = begin(bed, client)
        bed.publish(right, 0)
        bed.until_rows(second, 1, "second")
        system.suspend(first.pid)
        standing = Ear(client)
        asking, _ = bed.trigger()
        asking.until(lambda: f"join-{OTHER}" in standing.heard, "the second one stands")
        killed(first)
        first = bed.join(alone(bed, "first"))
        assert asking.wait() == FAILED, asking
        assert f"join-{OUT}" in outcome(asking)["message"], asking
        bed.publish(right, 1)
        bed.until_rows(second, 2, "second")
        asking, (checkpoint_id, _) = bed.trigger()
        assert asking.wait() == DONE, asking
        for agent in (first, second):
            interrupted(agent)
    assert {seq for _, seq in places(bed, checkpoint_id).values()} == {1}
