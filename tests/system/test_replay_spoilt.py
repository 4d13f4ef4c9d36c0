# SPDX-License-Identifier: Apache-2.0
"""Replays of recordings that are spoilt, or that another version wrote: what is whole is sent, the rest is told."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE

from framegate.cli import run
from tests.system.conftest import System
from tests.system.pool import Pool
from tests.unit.recording.recording_world import LEFT, RIGHT
from tests.unit.recording.spoilt import WHOLE, spoilt
from tests.unit.recording.versions import of_a_newer_version, of_a_version_that_lacks_fields, of_an_unknown_schema

FILES = 200 if os.environ.get("FRAMEGATE_TEST_LANE") == "long" else 15


class Replays:
    """Replays run here, one after the other, over one driver."""

    def __init__(self, pool: Pool, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._places = pool.places
        self._file = folder / "in.mcap"
        self._capsys = capsys
        self.error = ""

    def replay(self, data: bytes, *words: str) -> int:
        self._file.write_bytes(data)
        told = ("--speed", "max", *(("--map", "/camera/image=10007") if b"/camera/image" in data else ()))
        code = run(["replay", str(self._file), *self._places, *told, *words])
        captured = self._capsys.readouterr()
        self.error, self.out = captured.err, captured.out
        return code

    def summary(self, data: bytes) -> dict[str, Any]:
        assert self.replay(data, "--json") == DONE, self.error + self.out
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found


@pytest.fixture
def replays(system: System, shm: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Replays]:
    pool = Pool(system, shm)
    pool.start_driver()
    interval = sys.getswitchinterval()
    yield Replays(pool, shm, capsys)
    # A replay has it shorter, in a process of its own.
    sys.setswitchinterval(interval)


def test_whatever_was_spoilt_a_replay_sends_what_is_whole_or_says_a_number(replays: Replays) -> None:
    assert replays.summary(WHOLE[2])["frames"] == 16
    chance = random.Random(10)
    sent = 0
    for _ in range(FILES):
        data = spoilt(chance)
        code = replays.replay(data)
        said = f"{data.hex()}\n{replays.error}"
        assert code in (DONE, FAILED, WRONG_USAGE), said
        assert "Traceback" not in replays.error, said
        assert "[FG-999" not in replays.error, said
        assert code == DONE or "[FG-" in replays.error, said
        sent += code == DONE and not replays.out.startswith("0 frames")
    assert sent > 0


def test_messages_of_another_version_or_schema_are_told_and_the_rest_is_sent(replays: Replays) -> None:
    assert replays.summary(of_a_newer_version(3))["frames"] == 6
    lacking = replays.summary(of_a_version_that_lacks_fields(3))
    assert (lacking["frames"], lacking["unread"][str(LEFT)]["count"]) == (3, 3)
    assert "WRONG_BLOCK_LENGTH" in lacking["unread"][str(LEFT)]["problem"]
    assert replays.replay(of_an_unknown_schema(3, stream=RIGHT)) == DONE
    assert f"stream {RIGHT}: 3 messages cannot be read, the first: [FG-101 WRONG_SCHEMA]" in replays.out


@pytest.mark.parametrize(
    ("data", "code", "name"),
    [
        (b"", FAILED, "RECORDING_DAMAGED"),
        (b"no recording", WRONG_USAGE, "OTHER_FILE_KIND"),
        (WHOLE[0][:20], FAILED, "RECORDING_DAMAGED"),
    ],
    ids=["empty", "text", "cut"],
)
def test_what_is_no_recording_is_refused_before_anything_is_attached(
    replays: Replays, data: bytes, code: int, name: str
) -> None:
    assert replays.replay(data, "--json") == code
    assert name in replays.error + replays.out
    assert '"ready"' not in replays.out
