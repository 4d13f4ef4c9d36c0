# SPDX-License-Identifier: Apache-2.0
"""Joins that others read, killed and restored: what their readers may lack is published again, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.schema.errors import FAILED
from framegate.shmpool.marks.continued import is_marked_continued

from tests.system.checkpoint_bed import CheckpointBed
from tests.system.join_bed import LEFT, OUT, interrupted, killed

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.consumer.consumer import Consumer
    from framegate.shmpool.producer.producer import Producer

    from tests.system.conftest import Program, System


class ChainBed(CheckpointBed):
    """An agent that publishes what it joins, and begins when one reads it; the test reads it."""

    def __init__(self, system: System, shm: Path, **pipeline: Any) -> None:
        super().__init__(system, shm, slots=16, **pipeline)
        keys = {"wait_consumers": 1}
        self.config = self.lockstep(inputs={"only": LEFT}, publish="only", keys=keys, journal={"seal_rows": 1})

    def source(self, client: Client, *, continues: bool = True) -> Producer:
        return client.producer(LEFT, pipeline=None, continues=continues)

    def start(self) -> Program:
        """With a supervisor's one command line."""
        return self.join(self.config, "--restore", "latest")


class Heard:
    """Sequences of each epoch that a consumer read, in their order."""

    def __init__(self, consumer: Consumer, system: System) -> None:
        self._consumer, self._system = consumer, system
        self.lives: dict[int, list[int]] = {}

    def until(self, last: int, *, life: int) -> list[int]:
        """Read until that sequence of one of the epochs, counted from 0; all of that epoch."""

        def has_come() -> bool:
            for frame in self._consumer.poll():
                assert int.from_bytes(frame.tobytes()[:8], "little") == frame.seq
                self.lives.setdefault(frame.epoch, []).append(frame.seq)
            return len(self.lives) > life and [*self.lives.values()][life][-1] >= last

        self._system.until(has_come, f"frame {last} of life {life}: {self.lives}")
        return [*self.lives.values()][life]


@pytest.fixture
def bed(system: System, shm: Path) -> ChainBed:
    return ChainBed(system, shm)


def test_a_join_begins_with_its_first_reader_and_holds_up_no_checkpoint_until_then(bed: ChainBed) -> None:
    with bed.pool.client() as client:
        source = bed.source(client)
        agent = bed.start()
        asking, _ = bed.trigger()
        # At once, and not when its time is over: whoever is being restored waits for the end of what is under way.
        assert asking.wait() == FAILED, asking
        assert "just been started" in asking.stdout + asking.stderr
        assert not source.wait_consumers(1, 0)
        with client.consumer(OUT) as consumer:
            bed.pool.wait_ready(source, 1)
            bed.publish(source, 0, 1, 2)
            assert Heard(consumer, bed.system).until(2, life=0) == [0, 1, 2]
        interrupted(agent)


@pytest.mark.parametrize("continues", [True, False])
def test_rows_behind_the_checkpoint_are_published_again_where_the_source_goes_back(
    bed: ChainBed, continues: bool
) -> None:
    with bed.pool.client() as client:
        source = bed.source(client)
        agent = bed.start()
        with client.consumer(OUT) as consumer:
            heard = Heard(consumer, bed.system)
            bed.pool.wait_ready(source, 1)
            bed.publish(source, 0, 1, 2)
            bed.until_rows(agent, 3)
            asking, barrier = bed.trigger()
            bed.cut(source, barrier)
            assert asking.wait() == 0, asking
            # More rows than its stream's ring holds: it goes no faster than it is read.
            for seq in range(3, 63):
                bed.publish(source, seq)
                heard.until(seq, life=0)
            bed.until_rows(agent, 63)
            killed(agent)
            source.close()
            source = bed.source(client, continues=continues)
            agent = bed.start()
            again = [*heard.until(62, life=1)] if continues else []
            bed.pool.wait_ready(source, 1)
            bed.publish(source, 62, 63)
            assert heard.until(63, life=1) == ([*again, 63] if continues else [62, 63])
            assert not again or again == [*range(3, 63)]
            ring = bed.pool.base_dir
            marks = [*Path(ring).rglob("continued.json")]
            assert (
                any(is_marked_continued(str(mark.parent), epoch) for mark in marks for epoch in [*heard.lives][1:])
                is continues
            )
        interrupted(agent)
