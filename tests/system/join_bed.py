# SPDX-License-Identifier: Apache-2.0
"""Joins as programs: a driver, producers that say what they sent, agents, and the journals that they write."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from framegate.schema.errors import DONE
from framegate.shmpool.commands.pattern import Pattern

from tests.system.journal_table import read_rows, row_count
from tests.system.pool import Pool

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SLOTS = 1024
"""Of each ring, where a test says nothing else."""
LEFT, RIGHT, OUT = 10_001, 10_002, 20_001
PAIR = {"left": LEFT, "right": RIGHT}
PAYLOAD_BYTES = 512
NEVER_MS = 3_600_000
SMALL_SEGMENTS = {"seal_bytes": "1MiB", "segment_bytes": "8MiB"}
"""Rows of small frames fill them within a test."""


class JoinBed:
    """One driver and whatever joins over it, in folders of the test's own."""

    def __init__(self, system: System, shm: Path, *, slots: int = SLOTS, frame_bytes: int = 4096) -> None:
        self.system = system
        self.pool = Pool(system, shm, slots=slots, frame_bytes=frame_bytes)
        self.folder = shm / "joins"
        self.folder.mkdir()

    def start_driver(self) -> Program:
        return self.pool.start_driver()

    # --- producers ---------------------------------------------------------------------------------------

    def produce(self, stream: int, *words: str) -> Program:
        """Start ``framegate produce``; it begins when an agent is there."""
        told = ("--wait-consumers", "1", "--json", *words)
        return self._started(self.pool.produce(*told, stream=stream))

    def played(self, stream: int, schedule: Path, *words: str) -> Program:
        """Play a schedule, once an agent is there. The stream does not end: a step that never comes keeps it.

        What becomes of frames whose producer ends and leaves is tried by ``tests/outside/test_worked_examples.py``.
        """
        lines = [line for line in schedule.read_text().splitlines() if not line.startswith("#")]
        columns = lines[0].split(",")
        if "watermark_ms" not in columns:
            columns.append("watermark_ms")
            lines = [",".join(columns), *(f"{line}," for line in lines[1:])]
        never = {"at_ms": str(NEVER_MS), "watermark_ms": "0"}
        copy = self.folder / schedule.name
        copy.write_text("\n".join([*lines, ",".join(never.get(column, "") for column in columns)]) + "\n")
        return self.produce(stream, "--schedule", str(copy), "--shape", "4x4", *words)

    def counted(self, stream: int, **options: object) -> Program:
        """Start ``programs/counted_producer.py``, which says what it sent when it is told to end."""
        words = json.dumps({"stream": stream, **options})
        program = self.system.own_program("counted_producer", self.pool.aeron_dir, self.pool.base_dir, words)
        return self._started(program)

    def _started(self, program: Program) -> Program:
        program.says(event="ready")
        return program

    # --- agents ------------------------------------------------------------------------------------------

    def journal(self, name: str = "joined") -> Path:
        return self.folder / name

    def configure(self, text: str, name: str = "joined", **tables: Mapping[str, object]) -> Path:
        """A join.toml: what is given, with its own journal, and tables beside it."""
        for table, keys in tables.items():
            lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
            text += f"\n[{table}]\n{lines}\n"
        config = self.folder / f"{name}.toml"
        config.write_text(text.replace("JOURNAL", json.dumps(str(self.journal(name)))))
        return config

    def lockstep(
        self,
        name: str = "joined",
        *,
        inputs: Mapping[str, int] = PAIR,
        out: int = OUT,
        publish: str = "",
        keys: Mapping[str, object] = MappingProxyType({}),
        **tables: Any,
    ) -> Path:
        """The join of some streams by their sequences; ``keys``: of its first table, beside the usual ones."""
        text = f'[join]\nout_stream = {out}\npolicy = "sequence"\njournal = JOURNAL\npublish = "{publish}"\n'
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        text += "".join(_input(each, stream) for each, stream in inputs.items())
        return self.configure(text, name, **{**tables, "journal": {**SMALL_SEGMENTS, **tables.get("journal", {})}})

    def join(self, config: Path, *words: str, is_ready: bool = True, **environment: str) -> Program:
        """Start ``framegate join``, and wait until it listens."""
        told = ("join", "--config", str(config), *self.pool.places, "--json", *words)
        program = self.system.framegate(*told, **environment)
        if is_ready:
            program.says(event="ready")
        return program

    def until_rows(self, agent: Program, count: int, name: str = "joined") -> int:
        """Wait until an agent has sealed so many rows that are still there."""
        return agent.until(lambda: (found := row_count(self.journal(name))) >= count and found, f"at row {count}")


def _input(name: str, stream: int) -> str:
    return f'\n[[input]]\nname = "{name}"\nstream = {stream}\noffset = 0\n'


def summary_of(program: Program) -> dict[str, Any]:
    """What a program says at its end, which must be a good one."""
    assert program.wait() == DONE, program
    found = program.objects()[-1]
    assert found["event"] == "summary", program
    return found


def interrupted(program: Program) -> dict[str, Any]:
    """The summary of a program that is told to end."""
    program.send(signal.SIGINT)
    return summary_of(program)


def killed(program: Program) -> None:
    """End it as the kernel does."""
    program.send(signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL, program


def assert_rows_go_on(journal: Path) -> None:
    """Rows are dense, each holds one output, and outputs only grow within an epoch of theirs."""
    rows = read_rows(journal)
    assert rows
    assert [row.row for row in rows] == list(range(rows[0].row, rows[0].row + len(rows)))
    assert len({row.journal_epoch for row in rows}) == 1
    outputs = [(row.out_epoch, row.out_seq) for row in rows]
    assert all(before < after for before, after in pairwise(outputs)), outputs


def assert_payloads_are_the_frames(
    journal: Path, streams: Mapping[str, int], payload_bytes: int = PAYLOAD_BYTES
) -> None:
    """Each cell holds the bytes of the frame that it names."""
    patterns = {
        name: Pattern("counter", stream=stream, payload_bytes=payload_bytes) for name, stream in streams.items()
    }
    for row in read_rows(journal, payloads=True):
        for name, pattern in patterns.items():
            cell = row.inputs[name]
            if cell.seq is not None:
                assert pattern.holds(np.frombuffer(cell.payload, np.uint8), cell.seq), (row.row, name, cell.seq)


def trace_free(bed: JoinBed) -> bool:
    """Whether programs that have ended left nothing in shared memory but what the test itself keeps."""
    left = {path.name for path in bed.folder.parent.iterdir()} - {bed.folder.name}
    return not {name for name in left if not name.endswith(".log")}
