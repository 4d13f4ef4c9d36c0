# SPDX-License-Identifier: Apache-2.0
"""A driver that coordinates checkpoints, agents as programs, and producers in the test's own hands.

The test says when a frame goes, and when a barrier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from framegate.joinbarrier.checkpoint.operator.state import OperatorImage, decode_state
from framegate.joinbarrier.checkpoint.store import CheckpointStore, Restored
from framegate.joinbarrier.journal.journal import Journal
from framegate.schema.errors import DONE
from framegate.shmpool.producer.producer import Producer

from tests.system.join_bed import OUT, PAIR, JoinBed

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client

    from tests.system.conftest import Program, System

PAYLOAD_BYTES = 256
WATCHDOG_S = 60
PATIENT: Final = "[policies]\nlease_expiry_grace_intervals = 60\n[media_driver]\nclient_liveness_timeout_ms = 60000\n"
"""Tables of a driver to which whoever stands still is late, and not lost."""


class CheckpointBed(JoinBed):
    """``pipeline``: keys of ``[checkpoint.default]``; ``others``: of further pipelines; ``more``: other tables."""

    def __init__(
        self,
        system: System,
        shm: Path,
        *,
        slots: int = 256,
        others: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
        more: str = "",
        **pipeline: object,
    ) -> None:
        super().__init__(system, shm, slots=slots)
        self.store = self.folder / "checkpoints"
        keys = {"dir": str(self.store), "operator_timeout_ms": 5_000, **pipeline}
        config = self.folder / "driver.toml"
        config.write_text(f"{more}\n" + "".join(_section(*each) for each in {"default": keys, **others}.items()))
        self.driver = self.pool.start_driver("--config", str(config))

    # --- frames and barriers -----------------------------------------------------------------------------

    def begin(self, client: Client, config: Path, *, pipeline: str | None = None) -> tuple[Producer, Producer, Program]:
        """The producers of both inputs, and an agent that hears them. Barriers are the test's own, or a pipeline's."""
        left, right = (self.pool.producer(client, stream, pipeline=pipeline) for stream in PAIR.values())
        agent = self.join(config)
        for producer in (left, right):
            self.pool.wait_ready(producer, 1)
        return left, right, agent

    def publish(self, producer: Producer, *seqs: int) -> None:
        for seq in seqs:
            frame = np.full(PAYLOAD_BYTES, seq % 251, np.uint8)
            frame[:8] = np.frombuffer(seq.to_bytes(8, "little"), np.uint8)
            producer.publish(frame, seq=seq)

    def publish_seen(self, producer: Producer, end: int, step: int = 8) -> None:
        """Frames 1 to ``end``, no more ahead of the agent than its ring holds."""
        for first in range(1, end, step):
            self.publish(producer, *range(first, min(first + step, end)))
            assert producer.wait_seen(min(first + step, end) - 1, WATCHDOG_S)

    def cut(self, producer: Producer, barrier: tuple[int, int], *, unaligned: bool = False) -> None:
        """A barrier behind what was published last."""
        checkpoint_id, epoch = barrier
        assert producer.barrier(checkpoint_id, epoch, unaligned=unaligned)

    # --- checkpoints -------------------------------------------------------------------------------------

    def trigger(self, *words: str) -> tuple[Program, tuple[int, int]]:
        """Ask for a checkpoint; the program that waits for it, and the barrier that is now asked for."""
        before = self.issued()[0]
        asking = self.system.framegate("checkpoint", "trigger", *self.pool.places, "--json", *words)
        asking.until(lambda: self.issued()[0] > before, "given an id")
        return asking, self.issued()

    def issued(self) -> tuple[int, int]:
        """The last id and its epoch."""
        try:
            found = json.loads((self.store / "coordinator.json").read_text())
        except FileNotFoundError:
            return 0, 0
        return found["last_checkpoint_id"], found["epoch"]

    def restored(self, checkpoint_id: int, out: int = OUT) -> tuple[Restored, OperatorImage]:
        """What a join stored in a whole checkpoint."""
        store = CheckpointStore(self.store)
        assert list(store.problems(checkpoint_id)) == []
        found = store.restore(store.manifest(checkpoint_id), f"join-{out}")
        return found, decode_state(found.state)

    def verified(self) -> str:
        program = self.system.framegate("checkpoint", "verify", str(self.store))
        assert program.wait() == DONE, program
        return program.stdout

    def rows(self, name: str = "joined") -> list[Any]:
        """Of a journal, as any reader sees them."""
        return list(Journal(self.journal(name)).rows())

    def checkpoints_of_rows(self, name: str = "joined") -> dict[int, int]:
        """The checkpoint of each output."""
        return {row.out_seq: row.checkpoint_id for row in self.rows(name)}


def _section(name: str, keys: Mapping[str, object]) -> str:
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    return f"[checkpoint.{name}]\n{lines}\n"


def outcome(asking: Program) -> dict[str, Any]:
    """What an asked for checkpoint came to."""
    asking.wait()
    return asking.objects()[-1]
