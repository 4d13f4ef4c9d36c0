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
from framegate.schema.errors import DONE, FAILED

from framegate.cli import run
from tests.unit.recording.recording_world import LEFT, RIGHT
from tests.unit.recording.spoilt import WHOLE, spoilt

FILES = 5_000 if os.environ.get("FRAMEGATE_TEST_LANE") == "long" else 200
JOIN = f"""[join]
out_stream = 20001
policy = "sequence"
journal = "JOURNAL"
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
        words = ("--map", "/camera/image=10001")
        return self._run(data, "join", "--config", str(self._config), "--from", str(self.file), "--json", *words)

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
    assert code in (DONE, FAILED), said
    assert "Traceback" not in commands.error, said
    assert "[FG-999" not in commands.error, said
    if code == FAILED:
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


@pytest.mark.parametrize("data", [b"", b"x", b"\x89MCAP0\r\n"[:7], b"not a recording", bytes(4096)])
def test_what_is_no_recording_at_all_is_told_by_number(commands: Commands, data: bytes) -> None:
    for command in (commands.recover, commands.join):
        assert command(data) == FAILED
        assert "[FG-803 RECORDING_DAMAGED]" in commands.error


def test_whole_ones_are_joined_and_recovered(commands: Commands) -> None:
    """Otherwise the tests above would show nothing."""
    assert commands.join(WHOLE[2]) == DONE
    assert '"rows": 8' in commands.out
    assert commands.recover(WHOLE[2]) == DONE
    assert "49 messages" in commands.out
