# SPDX-License-Identifier: Apache-2.0
"""The journal's writer is killed at every step of its work, and again while it recovers from that.

Afterwards every row that a seal had shown is there, once, in its place; rows and state agree; and every unmatched frame
that the state accounts for is there, once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

from framegate._native import journal_fault_points
from tests.own_folder import own_folder
from tests.system.journal_rows import INPUTS, ROWS, cells, payloads

_PROGRAM: Final = Path(__file__).with_name("programs") / "write_journal.py"
_ROOT: Final = Path(__file__).parents[2]
_POINTS: Final = journal_fault_points()
# These come once in the life of a writer; the others are met the third time.
_ONCE: Final = {"open.locked", "close.sealed", "close.finished", "retention.dropped"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with own_folder("kills") as made:
        yield made


def _run(folder: Path, fault: str | None) -> tuple[int, list[list[str]]]:
    """One life of a writer: how it ended, and what it said."""
    environment = {key: value for key, value in os.environ.items() if key != "FRAMEGATE_FAULT"}
    if fault is not None:
        environment["FRAMEGATE_FAULT"] = fault
    environment["PYTHONPATH"] = str(_ROOT)
    done = subprocess.run(
        [sys.executable, str(_PROGRAM), str(folder)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    # What it was still writing when it was killed is no line.
    whole, _, _unfinished = done.stdout.rpartition("\n")
    return done.returncode, [line.split(maxsplit=2) for line in whole.splitlines()]


def _sealed(said: list[list[str]]) -> int:
    """The row behind the last that a seal had shown before the end."""
    return max((int(words[1]) for words in said if words[0] == "sealed"), default=0)


def _table(folder: Path, name: str) -> list[dict[str, Any]]:
    found = []
    for path in sorted(set((folder / name).iterdir()) - {folder / name / "retired.json"}):
        assert path.suffix == ".arrow", "a closed journal has no open segment, and no file on its way"
        with ipc.open_file(pa.memory_map(str(path))) as reader:
            table = reader.read_all()
            table.validate(full=True)
            found += table.to_pylist()
    return found


def _assert_recovers(folder: Path, sealed: int) -> None:
    # As a writer leaves it that is killed while it replaces an account; in most runs no thread is just there.
    (folder / "unmatched" / "retired.tmp").write_text("half of an accou")
    ended, said = _run(folder, None)
    assert ended == 0
    recovered = int(said[0][1])
    assert sealed <= recovered <= sealed + 8, "a seal that was shown is there, and at most one more"
    assert json.loads(said[0][2])["next"] == recovered
    rows = _table(folder, "segments")
    first = rows[0]["row"]
    assert [row["row"] for row in rows] == list(range(first, ROWS))
    for row in rows:
        assert row["out_seq"] == row["row"]
        assert {name: row[name]["payload"] for name in INPUTS} == payloads(row["row"])
    assert [row["seq"] for row in _table(folder, "unmatched")] == list(range(ROWS))
    _assert_account(folder, first)


def _assert_account(folder: Path, before: int) -> None:
    """Every row that is gone is counted, once."""
    account = json.loads((folder / "segments" / "retired.json").read_text())
    assert (account["before"], account["unread_rows"]) == (before, 0)
    gone = {name: [row for row in range(before) if cells(row)[name]] for name in INPUTS}
    for entry in account["entries"]:
        seqs = gone.pop(entry["input"])
        counted = (entry["frames"], entry["repeats"], entry["sum"], entry["squares"])
        assert counted == (len(seqs), 0, sum(seqs), sum(seq * seq for seq in seqs))
    assert not gone


@pytest.mark.parametrize("point", [point for point in _POINTS if not point.startswith("recovery.")])
def test_a_writer_killed_anywhere_loses_nothing_that_it_had_shown(folder: Path, point: str) -> None:
    ended, said = _run(folder, f"{point}:{1 if point in _ONCE else 3}")
    assert ended == -signal.SIGKILL, "the point was never met"
    _assert_recovers(folder, _sealed(said))


@pytest.mark.parametrize("point", [point for point in _POINTS if point.startswith("recovery.")])
@pytest.mark.parametrize("first", ["seal.prefix:20", "unmatched.sealed:20", "finish.ended:2"])
def test_a_writer_killed_while_it_recovers_loses_nothing_either(folder: Path, first: str, point: str) -> None:
    ended, said = _run(folder, first)
    assert ended == -signal.SIGKILL
    sealed = _sealed(said)
    for count in (1, 2):
        ended, _ = _run(folder, f"{point}:{count}")
        if count == 1:
            assert ended == -signal.SIGKILL, "the point was never met"
    _assert_recovers(folder, sealed if ended else ROWS)


def test_a_writer_killed_again_and_again_gets_there(folder: Path) -> None:
    sealed = 0
    for life in range(25):
        ended, said = _run(folder, f"seal.head:{life % 7 + 1}")
        sealed = max(sealed, _sealed(said))
        if ended == 0:
            break
    _assert_recovers(folder, sealed)
