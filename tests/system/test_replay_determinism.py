# SPDX-License-Identifier: Apache-2.0
"""Which joins of a recording come out the same each time: all of them from the file, and live those that wait.

``latest`` and ``union`` take what has come. An agent hears its streams one after the other, some messages of each at a
time: which frame of one was heard before which of the other is chance. What holds for them live is that nothing comes
twice and the order of each input stays.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from framegate.schema import Message
from framegate.schema.control import Watermark
from framegate.schema.errors import DONE

from framegate.cli import run
from tests.system.conftest import System
from tests.system.join_bed import LEFT, RIGHT
from tests.system.journal_table import Row, read_leftovers, read_rows
from tests.system.replay_bed import ReplayBed, assert_same
from tests.unit.recording.recording_world import EPOCH, START_NS, Made
from tests.unit.recording.replay_frames import frame, numbered

LEFTS, RIGHTS = 240, 80
STEP_NS = 100_000
WINDOW_NS = 2_000_000
TIMES = f"""
from itertools import count
_ticks = count(1)

def next_time():
    tick = next(_ticks)
    return {START_NS} + tick * 1_000_000 if tick < 100 else None
"""
WAITING = [
    ("sequence", "counter"),
    ("sequence", "input:right"),
    ("timestamp", "input:left"),
    ("timestamp", "input:right"),
    ("timestamp", "watermark"),
]
TAKING_WHAT_CAME = [("latest", "counter"), ("latest", "input:left"), ("latest", "watermark"), ("union", "counter")]
BY_THE_CLOCK = [
    ("timestamp", "clock:1000"),
    ("timestamp", "external:times:next_time"),
    ("latest", "clock:1000"),
    ("latest", "external:times:next_time"),
]


@pytest.fixture
def bed(system: System, shm: Path) -> ReplayBed:
    found = ReplayBed(system, shm)
    found.file.write_bytes(Made(is_one_time_a_frame=True, step_ns=STEP_NS).file(_two_streams()))
    return found


def _two_streams() -> list[tuple[str, Message | bytes]]:
    """A fast and a slow stream with times, and watermarks that both keep to."""
    messages: list[tuple[str, Message | bytes]] = []
    for seq in range(LEFTS):
        at_ns = START_NS + STEP_NS * len(messages)
        messages += frame(seq, numbered(seq), stream=LEFT, timestamp_ns=at_ns)
        if seq % 3 == 1:
            messages += frame(seq // 3, numbered(seq), stream=RIGHT, timestamp_ns=at_ns + STEP_NS)
        if seq % 10 == 9:
            messages += [
                (
                    f"stream/{stream}/Watermark",
                    Watermark(timestamp_ms=at_ns // 1_000_000, stream_id=stream, source_epoch=EPOCH),
                )
                for stream in (LEFT, RIGHT)
            ]
    return messages


def configured(bed: ReplayBed, name: str, policy: str, drive: str) -> Path:
    """A join of both streams."""
    text = f'[join]\nout_stream = 20001\npolicy = "{policy}"\njournal = JOURNAL\n'
    text += "" if policy == "union" else f'drive = "{drive}"\n'
    rule = {"sequence": "offset = 0", "timestamp": "offset_ns = 0"}.get(policy, "")
    if (policy, drive) == ("timestamp", "watermark"):
        rule = f"window_ns = {WINDOW_NS}"
    for each, stream in (("left", LEFT), ("right", RIGHT)):
        text += f'\n[[input]]\nname = "{each}"\nstream = {stream}\n{rule}\n'
    return bed.joins.configure(text, name)


def joined(bed: ReplayBed, name: str, policy: str, drive: str) -> list[Row]:
    """Join the file in this process; its rows."""
    config = configured(bed, name, policy, drive)
    # The function that gives times begins anew with its module.
    sys.modules.pop("times", None)
    # The latest of nothing is no row, and no failure here.
    assert run(["join", "--config", str(config), "--from", str(bed.file), "--json", "--no-strict"]) == DONE
    return read_rows(bed.joins.journal(name))


@pytest.mark.parametrize(("policy", "drive"), [*WAITING, *TAKING_WHAT_CAME, *BY_THE_CLOCK])
def test_joined_twice_from_the_file_a_recording_gives_the_same_rows_and_leftovers(
    bed: ReplayBed, monkeypatch: pytest.MonkeyPatch, policy: str, drive: str
) -> None:
    (bed.joins.folder / "times.py").write_text(TIMES)
    monkeypatch.syspath_prepend(str(bed.joins.folder))
    first, second = (joined(bed, name, policy, drive) for name in ("first", "second"))
    # Outputs that a function gives are asked for as early as they can be: the latest of nothing is no row.
    wanted = 0 if (policy, drive) == ("latest", BY_THE_CLOCK[-1][1]) else RIGHTS // 4
    assert len(first) == len(second) >= wanted
    assert_same(bed.journal("first"), bed.journal("second"))
    assert [row.seqs("left", "right") for row in first] == [row.seqs("left", "right") for row in second]
    leftovers = [read_leftovers(bed.joins.journal(name)) for name in ("first", "second")]
    assert leftovers[0] == leftovers[1]


def assert_order_is_kept(rows: list[Row], *, is_union: bool) -> None:
    """No row twice, no input going back; of a union every frame once."""
    outputs = [(row.out_epoch, row.out_seq) for row in rows]
    assert all(before < after for before, after in pairwise(outputs))
    for name, frames in (("left", LEFTS), ("right", RIGHTS)):
        seqs = [seq for row in rows if (seq := row.inputs[name].seq) is not None]
        assert seqs == sorted(seqs)
        if is_union:
            assert seqs == list(range(frames))


@pytest.mark.parametrize(("policy", "drive"), [("latest", "counter"), ("union", "counter")])
def test_a_live_replay_of_what_takes_what_came_keeps_each_inputs_order(bed: ReplayBed, policy: str, drive: str) -> None:
    bed.joins.start_driver()
    replayed = bed.replayed(configured(bed, "live", policy, drive), "--speed", "max")
    assert replayed["frames"] == LEFTS + RIGHTS
    rows = read_rows(bed.joins.journal("live"))
    assert len(rows) > RIGHTS
    assert_order_is_kept(rows, is_union=policy == "union")


@pytest.mark.long
@pytest.mark.parametrize(("policy", "drive"), WAITING)
def test_what_waits_for_its_partners_comes_out_of_every_live_replay_as_from_the_file(
    bed: ReplayBed, policy: str, drive: str
) -> None:
    joined(bed, "file", policy, drive)
    bed.joins.start_driver()
    for name, speed in (("once", "1"), ("max", "max"), ("again", "max")):
        bed.replayed(configured(bed, name, policy, drive), "--speed", speed)
    assert_same(*(bed.journal(name) for name in ("file", "once", "max", "again")))


@pytest.mark.long
@pytest.mark.parametrize(("policy", "drive"), TAKING_WHAT_CAME)
def test_what_takes_what_came_keeps_each_inputs_order_at_every_speed(bed: ReplayBed, policy: str, drive: str) -> None:
    bed.joins.start_driver()
    for name, speed in (("once", "1"), ("max", "max"), ("again", "max")):
        bed.replayed(configured(bed, name, policy, drive), "--speed", speed)
        assert_order_is_kept(read_rows(bed.joins.journal(name)), is_union=policy == "union")
