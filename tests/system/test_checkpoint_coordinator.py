# SPDX-License-Identifier: Apache-2.0
"""``framegate driver`` as a coordinator, ``framegate checkpoint trigger``, and operators that speak schema 920 to it.

The operators are played here: they learn the store from the coordinator, write their files, and acknowledge over Aeron.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema import Message, decode_any
from framegate.schema.control import (
    AbortCause,
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    CheckpointComplete,
    InjectBarrier,
    OperatorHello,
    OperatorState,
    PipelineAnnounce,
)
from framegate.schema.errors import MessageError
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import AeronTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.system.conftest import Program, System

CHANNEL: Final = "aeron:ipc?term-length=4m"
STATE: Final = b"cursors and pending frames"
_HELLO_NS: Final = 200_000_000
_STEPS: Final = (AckStatus.SNAPSHOT_TAKEN, AckStatus.COMPLETE)


class Operator:
    """One operator. ``until`` is how far it goes with a barrier; what it did and heard is kept."""

    def __init__(self, transport: AeronTransport, name: str, pipeline: str = "default") -> None:
        self.name, self.pipeline = name, pipeline
        self.until: AckStatus | None = AckStatus.COMPLETE
        self.store = ""
        self.injected: list[InjectBarrier] = []
        self.over: dict[int, set[type]] = {}
        self.done: set[tuple[int, AckStatus]] = set()
        self._hears = transport.add_subscription(f"{CHANNEL}|tether=false", 1000)
        self._speaks = transport.add_publication(CHANNEL, 1000)
        self._hello_ns = 0

    def turn(self) -> None:
        """Hear, answer, and say hello from time to time."""
        for received in self._hears.poll():
            try:
                self._hear(decode_any(received.data))
            except MessageError:
                continue
        for inject in self.injected:
            self._work(inject)
        if monotonic_ns() >= self._hello_ns and self._speaks.is_connected:
            self._hello_ns = monotonic_ns() + _HELLO_NS
            self._say(
                OperatorHello(
                    instance_id=1,
                    last_checkpoint_id=max((each.checkpoint_id for each in self.injected), default=0),
                    state=OperatorState.PRESENT,
                    pipeline=self.pipeline,
                    operator_id=self.name,
                )
            )

    def _hear(self, message: Message) -> None:
        match message:
            case PipelineAnnounce() if message.pipeline == self.pipeline:
                self.store = message.store
            case InjectBarrier() if message.pipeline == self.pipeline:
                # A barrier with an id at or below one that was met is old (B4): the aligner ignores it.
                if all(message.checkpoint_id > each.checkpoint_id for each in self.injected):
                    self.injected.append(message)
            case CheckpointComplete() | CheckpointAborted() if message.pipeline == self.pipeline:
                self.over.setdefault(message.checkpoint_id, set()).add(type(message))

    def _work(self, inject: InjectBarrier) -> None:
        if self.until is None or inject.checkpoint_id in self.over:
            return
        for status in _STEPS:
            step = inject.checkpoint_id, status
            if step not in self.done and status <= self.until and self.store:
                self.done.add(step)
                self._acknowledge(inject, status)

    def _acknowledge(self, inject: InjectBarrier, status: AckStatus) -> None:
        stored_bytes = 0
        if status == AckStatus.SNAPSHOT_TAKEN:
            store = CheckpointStore(self.store)
            state = store.write_state(inject.checkpoint_id, self.name, STATE)
            store.write_part(inject.checkpoint_id, OperatorPart(state=state))
            stored_bytes = state.bytes
        self._say(
            BarrierAck(
                checkpoint_id=inject.checkpoint_id,
                epoch=inject.epoch,
                status=status,
                duration_ns=1,
                bytes=stored_bytes,
                pipeline=self.pipeline,
                operator_id=self.name,
            )
        )

    def _say(self, message: Message) -> None:
        assert self._speaks.offer(message.encode()) > 0


class Bed:
    """A driver that coordinates, operators around it, and whoever asks for checkpoints."""

    def __init__(self, system: System, shm: Path, aeron_dir: str, *pipelines: str) -> None:
        self._system = system
        self.where = ["--aeron-dir", aeron_dir, "--base-dir", str(shm)]
        self.stores = {name: shm / "checkpoints" / name for name in pipelines}
        self.config = shm / "driver.toml"
        sections = [
            f'[checkpoint.{name}]\ndir = "{store}"\nkeep = 2\noperator_timeout_ms = 2000\n'
            for name, store in self.stores.items()
        ]
        self.config.write_text("".join(sections))
        self.transport = AeronTransport(aeron_dir)
        self.operators: list[Operator] = []

    def driver(self) -> Program:
        driver = self._system.framegate("driver", "--config", str(self.config), *self.where, "--json")
        driver.says(event="ready")
        return driver

    def operator(self, name: str, pipeline: str = "default") -> Operator:
        self.operators.append(Operator(self.transport, name, pipeline))
        return self.operators[-1]

    def trigger(self, *words: str) -> Program:
        return self._system.framegate("checkpoint", "trigger", *self.where[:2], *words, "--json")

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait for a condition while the operators do their work."""

        def turn() -> Any:
            for each in self.operators:
                each.turn()
            return condition()

        return self._system.until(turn, what)

    def result(self, trigger: Program) -> dict[str, Any]:
        """What it printed last."""
        self.until(lambda: not self._system.is_alive(trigger.pid), f"{trigger} ended")
        trigger.wait()
        return trigger.objects()[-1]


@pytest.fixture
def bed(system: System, shm: Path, aeron_dir: str, media_driver: MediaDriver) -> Iterator[Bed]:
    bed = Bed(system, shm, aeron_dir, "default", "lidar")
    with bed.transport:
        yield bed


def kill_during(bed: Bed, driver: Program, before: int, steps: tuple[AckStatus | None, AckStatus | None]) -> Program:
    """Ask for a checkpoint, kill the driver when operators a and b have come so far, and start the next driver."""
    a, b = bed.operators
    a.until, b.until = steps
    trigger = bed.trigger()
    bed.until(lambda: all(each.injected[-1].checkpoint_id > before for each in (a, b)), "asked for a barrier")
    last_id = a.injected[-1].checkpoint_id
    wanted = {(last_id, each) for each in _STEPS if steps[1] is not None and each <= steps[1]}
    bed.until(lambda: wanted <= b.done, "as far as the operator goes")
    driver.send(signal.SIGKILL)
    driver.wait()
    driver = bed.driver()
    bed.until(lambda: last_id in a.over and last_id in b.over, "told what became of it")
    result, store = bed.result(trigger), CheckpointStore(bed.stores["default"])
    assert last_id == before + 1
    assert a.over[last_id] == b.over[last_id]
    if a.over[last_id] == {CheckpointComplete}:
        assert steps == (AckStatus.COMPLETE, AckStatus.COMPLETE)
        assert list(store.problems(last_id)) == []
        assert (result["event"], trigger.wait()) == ("checkpoint", 0)
    else:
        assert a.over[last_id] == {CheckpointAborted}
        assert last_id not in store.ids()
        assert (result["event"], result["name"], trigger.wait()) == ("error", "CHECKPOINT_NOT_TAKEN", 1)
        assert AbortCause.COORDINATOR.name in result["message"]
    return driver


def test_a_driver_killed_at_each_step_goes_on_with_higher_ids_and_says_what_became_of_the_last(bed: Bed) -> None:
    driver = bed.driver()
    a, b = bed.operator("a"), bed.operator("b")
    first = bed.trigger()
    found = bed.result(first)
    assert first.wait() == 0, first
    assert (found["event"], found["checkpoint_id"], found["size_bytes"]) == ("checkpoint", 1, 2 * len(STATE))
    assert found["duration_ms"] > 0
    taken, complete = AckStatus.SNAPSHOT_TAKEN, AckStatus.COMPLETE
    # Barriers asked for, nothing acknowledged; both snapshots; everything but one second step; all of it.
    kills = [(None, None), (taken, taken), (complete, taken), (complete, complete)]
    for n, steps in enumerate(kills, start=1):
        driver = kill_during(bed, driver, n, steps)
    a.until = b.until = complete
    found = bed.result(bed.trigger())
    assert (found["checkpoint_id"], found["epoch"]) == (6, 5)
    assert [each.epoch for each in b.injected] == [1, 1, 2, 3, 4, 5]
    store = CheckpointStore(bed.stores["default"])
    newest = store.latest_whole()
    assert (newest.checkpoint_id, [each.operator_id for each in newest.operators]) == (6, ["a", "b"])
    driver.send(signal.SIGINT)
    assert driver.wait() == 0
    counts = driver.says(event="summary")["checkpoints"]["default"]
    assert (counts["completed"], counts["last_checkpoint_id"], counts["epoch"]) == (1, 6, 5)
    # What the attempts that came to nothing had left is gone.
    left = {int(each.name) for each in bed.stores["default"].iterdir() if each.name.isdigit()}
    assert left == set(store.ids())
    assert len(left) == 2


def test_pipelines_have_their_own_operators_ids_and_ends(bed: Bed) -> None:
    bed.driver()
    a, lidar = bed.operator("a"), bed.operator("a", "lidar")
    a.until = None
    waits, goes = bed.trigger(), bed.trigger("--pipeline", "lidar")
    found = bed.result(goes)
    assert (found["checkpoint_id"], found["pipeline"]) == (1, "lidar")
    bed.until(lambda: a.injected, "asked for a barrier")
    assert (a.injected[-1].checkpoint_id, a.over) == (1, {})
    a.until = AckStatus.COMPLETE
    assert bed.result(waits)["pipeline"] == "default"
    assert (a.over, lidar.over) == ({1: {CheckpointComplete}}, {1: {CheckpointComplete}})


def test_who_asks_for_what_there_is_not_is_told_which_pipelines_there_are(bed: Bed) -> None:
    bed.driver()
    bed.operator("a")
    nobody = bed.trigger("--pipeline", "radar", "--timeout", "3")
    without_operator = bed.trigger("--pipeline", "lidar")
    found = bed.result(nobody)
    assert (nobody.wait(), found["name"]) == (3, "NO_COORDINATOR")
    assert found["facts"]["announced"] == "default, lidar"
    found = bed.result(without_operator)
    assert (without_operator.wait(), found["name"]) == (1, "CHECKPOINT_NOT_TAKEN")
    assert "no operator takes part in pipeline lidar" in found["message"]
