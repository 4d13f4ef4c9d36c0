# SPDX-License-Identifier: Apache-2.0
"""Of a spoilt recording, `record --recover` and `join --from` take what is whole, or say by number what is wrong."""

from __future__ import annotations

import io
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from framegate.recording.frames import FrameOfRecording, Passage
from framegate.recording.reader import Recording
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE

from framegate.cli import run
from tests.unit.recording.recording_world import LEFT, RIGHT, Made
from tests.unit.recording.spoilt import PAIRS, WHOLE, spoilt
from tests.unit.recording.versions import (
    NEWER,
    of_a_newer_version,
    of_a_version_that_lacks_fields,
    of_an_unknown_schema,
)

FILES = 1_500 if os.environ.get("FRAMEGATE_TEST_LANE") == "long" else 200
JOIN = f"""[join]
out_stream = 20001
policy = "sequence"
journal = "JOURNAL"
pending_bytes = "1MiB"
[journal]
max_bytes = "4MiB"
segment_bytes = "1MiB"
seal_bytes = "256KiB"
[[input]]
name = "left"
stream = {LEFT}
offset = 0
[[input]]
name = "right"
stream = {RIGHT}
offset = 0
"""


class Commands:
    """Commands run here, and what they say."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.file, self.whole = folder / "in.mcap", folder / "whole.mcap"
        self._journal, self._config = folder / "joined", folder / "join.toml"
        self._config.write_text(JOIN.replace("JOURNAL", str(self._journal)))
        self._capsys = capsys
        self.out = ""
        self.error = ""

    def recover(self, data: bytes) -> int:
        self.whole.unlink(missing_ok=True)
        return self._run(data, "record", str(self.whole), "--recover", str(self.file))

    def join(self, data: bytes) -> int:
        shutil.rmtree(self._journal, ignore_errors=True)
        words = ("--map", "/camera/image=10001") if b"/camera/image" in data else ()
        return self._run(data, "join", "--config", str(self._config), "--from", str(self.file), *words)

    def _run(self, data: bytes, *words: str) -> int:
        self.file.write_bytes(data)
        code = run(list(words))
        captured = self._capsys.readouterr()
        self.out, self.error = captured.out, captured.err
        return code


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path, capsys)


def _answers_plainly(commands: Commands, command: Callable[[bytes], int], data: bytes) -> bool:
    """Whether it could do what it was asked for; if not, a number said why."""
    code = command(data)
    said = f"{data.hex()}\n{commands.error}"
    assert code in (DONE, FAILED, WRONG_USAGE), said
    assert "Traceback" not in commands.error, said
    assert "[FG-999" not in commands.error, said
    if code != DONE:
        assert "[FG-" in commands.error, said
    return code == DONE


def test_whatever_was_spoilt_recovering_gives_a_whole_file_or_a_numbered_error(commands: Commands) -> None:
    chance = random.Random(7)
    recovered = 0
    for _ in range(FILES):
        if _answers_plainly(commands, commands.recover, spoilt(chance)):
            recovered += 1
            with Recording.open(commands.whole) as recording:
                for _each in recording:
                    pass
            assert recording.damage is None, commands.file.read_bytes().hex()
        else:
            assert not commands.whole.exists()
    assert recovered > 0


def test_whatever_was_spoilt_a_join_of_it_gives_rows_or_a_numbered_error(commands: Commands) -> None:
    chance = random.Random(8)
    joined = sum(_answers_plainly(commands, commands.join, spoilt(chance)) for _ in range(FILES))
    assert joined > 0


def test_whatever_was_spoilt_frames_that_come_of_it_fit_their_payloads() -> None:
    chance = random.Random(9)
    frames = 0
    for _ in range(FILES):
        for item in Passage(Recording(io.BytesIO(spoilt(chance))), {"/camera/image": 7}):
            if isinstance(item, FrameOfRecording):
                frames += 1
                assert item.array.nbytes <= len(item.payload)
    assert frames > 0


@pytest.mark.parametrize("data", [b"", b"\x89MCAP0\r\n"[:7]])
def test_what_only_began_to_be_a_recording_is_told_by_number(commands: Commands, data: bytes) -> None:
    for command in (commands.recover, commands.join):
        assert command(data) == FAILED
        assert "[FG-803 RECORDING_DAMAGED]" in commands.error


@pytest.mark.parametrize("data", [b"x", b"not a recording", bytes(4096)])
def test_what_is_no_recording_at_all_is_told_by_number(commands: Commands, data: bytes) -> None:
    assert commands.recover(data) == FAILED
    assert "[FG-803 RECORDING_DAMAGED]" in commands.error
    assert commands.join(data) == WRONG_USAGE
    assert "[FG-807 OTHER_FILE_KIND]" in commands.error


@pytest.mark.parametrize("ahead", ["-1" + "0" * 30, "1" + "0" * 30, "9" * 5000, "much", ""])
def test_a_clock_that_cannot_be_is_no_failure_of_the_join(commands: Commands, ahead: str) -> None:
    about = {"realtime_minus_monotonic_ns": ahead}
    assert commands.join(Made(is_one_time_a_frame=True, about=about).file(PAIRS)) == DONE, commands.error
    assert "8 rows" in commands.out


def test_a_loss_that_is_said_to_be_endless_explains_nothing(commands: Commands) -> None:
    endless = b'{"stream":1,"epoch":1,"first":Infinity,"last":1e999,"count":1,"part":"payload","cause":"aged"}'
    assert commands.join(Made(is_one_time_a_frame=True).file([*PAIRS, ("framegate/loss", endless)])) == DONE


def test_a_join_of_a_cut_recording_gives_the_rows_before_the_cut_and_says_that_it_is_cut(commands: Commands) -> None:
    assert commands.join(WHOLE[2][: len(WHOLE[2]) // 2]) == DONE
    rows, told, where = commands.out.splitlines()
    assert 0 < int(rows.split(" ")[0]) < 8
    assert told.startswith("  the recording is damaged: ")
    assert f" to {len(WHOLE[2]) // 2} cannot be read, from log time " in where
    assert commands.join(WHOLE[2]) == DONE
    assert "damaged" not in commands.out


def test_a_newer_version_that_has_what_ours_has_is_joined_like_ours(commands: Commands) -> None:
    assert commands.join(of_a_newer_version(3)) == DONE
    assert "3 rows" in commands.out
    assert "cannot be read" not in commands.error


def test_messages_of_a_version_that_cannot_be_read_are_counted_and_the_first_is_told(commands: Commands) -> None:
    assert commands.join(of_a_version_that_lacks_fields(3)) == FAILED
    assert "[FG-425 NO_ROWS]" in commands.error
    assert f"stream left ({LEFT}): 3 messages cannot be read, the first: [FG-104 WRONG_BLOCK_LENGTH]" in commands.error
    assert f"version={NEWER}" in commands.error
    assert f"stream right ({RIGHT}): " not in commands.error


def test_a_stream_of_an_unknown_schema_is_told_by_its_input_and_its_number(commands: Commands) -> None:
    assert commands.join(of_an_unknown_schema(3, stream=RIGHT)) == FAILED
    assert "[FG-425 NO_ROWS]" in commands.error
    assert f"stream right ({RIGHT}): 3 messages cannot be read, the first: [FG-101 WRONG_SCHEMA]" in commands.error
    assert "4711" in commands.error


def test_whole_ones_are_joined_and_recovered(commands: Commands) -> None:
    """Otherwise the tests above would show nothing."""
    assert commands.join(WHOLE[2]) == DONE
    assert "8 rows" in commands.out
    assert commands.recover(WHOLE[2]) == DONE
    assert "49 messages" in commands.out
