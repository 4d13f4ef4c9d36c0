# SPDX-License-Identifier: Apache-2.0
"""Joins of a recording that are killed and restored again and again: their rows are those of a run without kills."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.joinbarrier.agent.offline.join_recording import RecordingJoin
from framegate.joinbarrier.agent.plan import journal_shape
from framegate.joinbarrier.agent.restoring import RestoreOptions
from framegate.joinbarrier.checkpoint.restore.basis import Basis
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.verify import verify
from framegate.recording.frames import Passage
from framegate.recording.source import open_source
from framegate.schema import Message
from framegate.schema.control import Watermark
from framegate.schema.errors import FAILED, WRONG_USAGE

from tests.own_folder import own_folder
from tests.system.conftest import System
from tests.system.join_bed import LEFT, RIGHT, summary_of
from tests.unit.recording.recording_world import EPOCH, START_NS, Made
from tests.unit.recording.replay_frames import frame, numbered

FRAMES = 240
STEP_NS = 100_000
KILLS = 30 if os.environ.get("FRAMEGATE_TEST_LANE") == "long" else 4
SMALL = 'seal_bytes = "1MiB"\nsegment_bytes = "8MiB"\n'
"""A life is short: its segments are made anew each time."""
LOCKSTEP = ("sequence", "counter", "offset = 0", "offset = -2")
POLICIES = [
    LOCKSTEP,
    ("timestamp", "watermark", "window_ns = 2000000", "window_ns = 2000000"),
    pytest.param("sequence", "input:right", "window = 4", "offset = 0", marks=pytest.mark.long),
    pytest.param("timestamp", "input:left", "offset_ns = 0", "offset_ns = 0", marks=pytest.mark.long),
    pytest.param("timestamp", "clock:1000", "offset_ns = 0", "offset_ns = 0", marks=pytest.mark.long),
]


def two_streams() -> list[tuple[str, Message | bytes]]:
    """A stream with gaps, a slower one, and watermarks that both keep to."""
    messages: list[tuple[str, Message | bytes]] = []
    for seq in range(FRAMES):
        at_ns = START_NS + STEP_NS * len(messages)
        if seq % 17:
            messages += frame(seq, numbered(seq), stream=LEFT, timestamp_ns=at_ns)
        if seq % 3 == 1:
            messages += frame(seq // 3, numbered(seq), stream=RIGHT, timestamp_ns=at_ns + STEP_NS)
        if seq % 10 == 9:
            ms = at_ns // 1_000_000
            marks = [Watermark(timestamp_ms=ms, stream_id=stream, source_epoch=EPOCH) for stream in (LEFT, RIGHT)]
            messages += [(f"stream/{each.stream_id}/Watermark", each) for each in marks]
    return messages


class Bench:
    """A file, and joins of it in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "in.mcap"
        self.file.write_bytes(Made(is_one_time_a_frame=True, step_ns=STEP_NS).file(two_streams()))
        self.store = str(folder / "checkpoints")

    def configured(self, name: str, policy: str, drive: str, left: str, right: str) -> Path:
        text = f'[join]\nout_stream = 20001\npolicy = "{policy}"\ndrive = "{drive}"\n'
        text += f'journal = "{self.folder / name}"\n[journal]\nseal_rows = 3\n{SMALL}[checkpoint]\ninterval_ms = 1\n'
        for each, stream, rule in (("left", LEFT, left), ("right", RIGHT, right)):
            text += f'\n[[input]]\nname = "{each}"\nstream = {stream}\n{rule}\n'
        config = self.folder / f"{name}.toml"
        config.write_text(text)
        return config

    def life(self, config: JoinConfig, restore: RestoreOptions, items: int | None) -> bool:
        """One life, ended as the kernel does after so many items; whether it came to the end."""
        shape = journal_shape(config)
        with open_source(self.file) as recording, JournalFolder(Path(config.join.journal), shape) as folder:
            join = RecordingJoin(config, folder, Passage(recording), lambda: False, restore)
            while items is None or items > 0:
                if not join.work(1):
                    join.close()
                    return True
                items = None if items is None else items - 1
            # What was not sealed is as lost as by a kill.
            join._engine.discard()
            if join._checkpoints is not None:
                join._checkpoints.close()
        return False

    def journal(self, name: str) -> Journal:
        found = Journal(self.folder / name)
        assert verify(found).problem is None
        return found


@pytest.fixture
def bench() -> Iterator[Bench]:
    with own_folder("restored") as folder:
        yield Bench(folder)


@pytest.mark.parametrize(("policy", "drive", "left", "right"), POLICIES)
def test_p8_a_killed_join_of_a_recording_makes_the_rows_of_a_run_without_kills(
    bench: Bench, policy: str, drive: str, left: str, right: str
) -> None:
    whole = load_join_config(bench.configured("whole", policy, drive, left, right), {}, {})
    assert bench.life(whole, RestoreOptions(), None)
    config = load_join_config(bench.configured("killed", policy, drive, left, right), {}, {})
    dice = random.Random(f"{policy} {drive}")
    restore = RestoreOptions(wanted="latest", store=bench.store)
    for _ in range(KILLS):
        if bench.life(config, restore, dice.randrange(1, 340)):
            break
    else:
        assert bench.life(config, restore, None)
    first, second = bench.journal("whole"), bench.journal("killed")
    found = diff(first, second)
    ignored = {"checkpoint_id"}
    changed = [each for each in found.changed if set(each.columns) - ignored]
    assert (found.lost, found.gained, changed) == ([], [], [])
    rows = list(second.rows())
    assert len(rows) > 20
    assert len({row.checkpoint_id for row in rows}) > 2, "checkpoints were taken"


@pytest.mark.parametrize(
    ("policy", "drive"),
    [
        ("union", "counter"),
        ("latest", "watermark"),
        pytest.param("latest", "counter", marks=pytest.mark.long),
        pytest.param("latest", "clock:1000", marks=pytest.mark.long),
    ],
)
def test_p8_what_takes_what_came_has_no_row_twice_after_kills_and_keeps_each_inputs_order(
    bench: Bench, policy: str, drive: str
) -> None:
    config = load_join_config(bench.configured("killed", policy, drive, "", ""), {}, {})
    dice = random.Random(f"{policy} {drive}")
    restore = RestoreOptions(wanted="latest", store=bench.store)
    for _ in range(KILLS):
        bench.life(config, restore, dice.randrange(1, 340))
    assert bench.life(config, restore, None)
    rows = list(bench.journal("killed").rows())
    assert [row.out_seq for row in rows] == list(range(len(rows)))
    times = [row["out_time_ns"] for row in rows]
    assert drive == "counter" or (times == sorted(set(times)) and len(times) > 10)
    for name in ("left", "right"):
        seqs = [seq for row in rows if (seq := row.inputs[name].seq) is not None]
        assert seqs == sorted(seqs)
        if policy == "union":
            sent = [seq for seq in range(FRAMES) if seq % 17] if name == "left" else list(range(FRAMES // 3))
            assert seqs == sent


def test_p8_with_the_checkpoints_state_on_a_longer_journal_rows_would_come_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule broken: the same check fails where the journal's tail is not heeded."""
    config = load_join_config(bench.configured("killed", *LOCKSTEP), {}, {})
    restore = RestoreOptions(wanted="latest", store=bench.store)
    assert not bench.life(config, restore, 200)
    whole = load_join_config(bench.configured("whole", *LOCKSTEP), {}, {})
    assert bench.life(whole, RestoreOptions(), None)
    monkeypatch.setattr("framegate.joinbarrier.agent.restoring.basis_of", lambda _head, _tail: Basis.CHECKPOINT)
    # The oldest that is kept: the journal has gone on behind it by some rows.
    oldest = min(int(each.name) for each in Path(bench.store).iterdir() if each.name.isdigit())
    assert bench.life(config, RestoreOptions(wanted=oldest, store=bench.store), None)
    assert diff(bench.journal("whole"), Journal(bench.folder / "killed")).gained


def test_a_killed_process_goes_on_where_it_was(bench: Bench, system: System) -> None:
    config = bench.configured("killed", *LOCKSTEP)
    whole = load_join_config(bench.configured("whole", *LOCKSTEP), {}, {})
    assert bench.life(whole, RestoreOptions(), None)
    told = ("join", "--config", str(config), "--from", str(bench.file), "--json", "--checkpoints", bench.store)
    killed = system.framegate(*told, "--restore", "latest")
    killed.says(event="ready")
    killed.send(signal.SIGKILL)
    assert killed.wait() in (-signal.SIGKILL, 0)
    summary = summary_of(system.framegate(*told, "--restore", "latest"))
    assert summary["gap"] == {"left": 0, "right": 0}
    assert summary["checkpoints_failed"] == 0
    found = diff(bench.journal("whole"), bench.journal("killed"))
    assert (found.lost, found.gained) == ([], [])
    missing = system.framegate(*told, "--restore", "99999")
    assert missing.wait() == FAILED, missing
    placeless = system.framegate(*told[:-2], "--restore", "latest")
    assert placeless.wait() == WRONG_USAGE, placeless
