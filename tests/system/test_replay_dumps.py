# SPDX-License-Identifier: Apache-2.0
"""Raw dumps of other implementations are joined and published as recordings are, as far as they hold frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal
from framegate.tools.replay.check import check_journal

from tests.system.conftest import System
from tests.system.join_bed import LEFT, RIGHT, JoinBed, summary_of
from tests.system.journal_table import read_rows
from tests.unit.recording.dump_world import behind_lengths, parts, write_folder
from tests.unit.recording.recording_world import descriptor
from tests.unit.recording.replay_frames import numbered

FRAMES = 50


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    return JoinBed(system, shm)


def taking_turns() -> list[bytes]:
    return [
        message
        for seq in range(FRAMES)
        for stream in (LEFT, RIGHT)
        for message in parts(seq, numbered(seq), stream=stream)
    ]


def test_a_file_and_a_folder_of_messages_are_joined_and_a_replay_gives_the_same_rows(bed: JoinBed) -> None:
    file, folder = bed.folder / "a.dump", bed.folder / "dump"
    # One frame of the left stream was announced, and nobody kept its payload.
    messages = [*taking_turns(), descriptor(FRAMES, stream=LEFT).encode()]
    file.write_bytes(behind_lengths(messages))
    write_folder(folder, messages)
    for name, source in (("file", file), ("folder", folder)):
        words = ("join", "--config", str(bed.lockstep(name)), "--from", str(source), "--json")
        joined = summary_of(bed.system.framegate(*words))
        assert (joined["rows"], joined["frames"], joined["left_out"]) == (FRAMES, 2 * FRAMES, {"not_recorded": 1})
    bed.start_driver()
    agent = bed.join(bed.lockstep("live"))
    told = ("replay", str(file), *bed.pool.places, "--speed", "max", "--wait-consumers", "1", "--end", "--json")
    replay = bed.system.framegate(*told)
    replayed = summary_of(replay)
    # Attached before the first frame: consumers are waited for.
    assert replay.objects()[0]["streams"] == [LEFT, RIGHT]
    assert summary_of(agent)["rows"] == FRAMES
    assert (replayed["frames"], replayed["left_out"], replayed["damage"]) == (2 * FRAMES, {"not_recorded": 1}, None)
    for name in ("folder", "live"):
        assert diff(Journal(bed.journal("file")), Journal(bed.journal(name))).is_empty
    assert [row.inputs["left"].payload for row in read_rows(bed.journal("live"), payloads=True)] == [
        numbered(seq).tobytes() for seq in range(FRAMES)
    ]
    assert check_journal(bed.journal("live"), file, {}).is_same


def test_a_dump_of_descriptors_alone_attaches_nothing_and_says_so(bed: JoinBed) -> None:
    file = bed.folder / "a.dump"
    file.write_bytes(behind_lengths([descriptor(seq).encode() for seq in range(5)])[:-1])
    bed.start_driver()
    replay = bed.system.framegate("replay", str(file), *bed.pool.places, "--json")
    said = summary_of(replay)
    assert replay.objects()[0]["streams"] == []
    assert (said["frames"], said["left_out"]) == (0, {"not_recorded": 4})
    assert said["damage"].startswith("the last message is not whole")
