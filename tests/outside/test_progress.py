# SPDX-License-Identifier: Apache-2.0
"""What takes over a second shows on a terminal how far it is, how fast, and how long it still takes; nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.outside.bed import FRAMEGATE, WATCHDOG_S, Bed
from tests.outside.recordings import MS, ticks, write_recording
from tests.outside.terminal import Shown, on_terminal

FRAMES = 60_000
MESSAGES = 400_000
CONFIG = """
[join]
out_stream = 20001
policy = "sequence"
journal = "out"

[journal]
seal_rows = 64

[[input]]
name = "left"
stream = 10001

[[input]]
name = "right"
stream = 10002
"""
MAPPED = ("--map", "/a=10001", "--map", "/b=10002")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording whose end is cut, a configuration for it, and what a person saw while it was joined; a longer one."""
    folder = tmp_path_factory.mktemp("progress")
    topics = {name: ticks(FRAMES, MS, payload_bytes=256) for name in ("/a", "/b")}
    write_recording(folder / "cut.mcap", topics, is_finished=False)
    write_recording(folder / "long.mcap", {"/a": ticks(MESSAGES, MS)})
    (folder / "join.toml").write_text(CONFIG)
    shown = run(folder, "join", "--config", "join.toml", "--from", "cut.mcap", *MAPPED)
    (folder / "shown.txt").write_text(shown.text)
    return folder


def run(folder: Path, *words: object) -> Shown:
    shown = on_terminal(words, folder, dict(os.environ))
    assert shown.code == 0, shown
    return shown


def test_a_replay_says_how_far_how_fast_and_how_long(own_bed: Bed) -> None:
    own_bed.driver()
    write_recording(own_bed.folder / "short.mcap", {"/a": ticks(60, 50 * MS)})
    shown = on_terminal(("replay", "short.mcap", "--map", "/a=10001"), own_bed.folder, own_bed.environment)
    assert shown.code == 0, shown
    assert re.search(r"replay short\.mcap .* \d+ of 60 messages \d+/s \d+:\d+ left", shown.text), shown.text


def test_a_join_of_a_recording_says_how_far_how_fast_and_how_long(folder: Path) -> None:
    shown = (folder / "shown.txt").read_text()
    assert re.search(r"join cut\.mcap .* [\d,]+ of [\d,]+ messages [\d,]+/s \d+:\d+ left", shown), shown


@pytest.mark.parametrize(
    ("words", "bar"),
    [
        (("journal", "diff", "out", "out"), r"compare journals .* of [\d,]+ rows [\d,]+/s \d+:\d+ left"),
        (("inspect", "long.mcap", "--stats"), r"read long\.mcap .* of [\d.]+ MiB [\d.]+ MiB/s \d+:\d+ left"),
    ],
)
def test_what_takes_a_while_shows_a_bar_and_takes_it_away(folder: Path, words: tuple[str, ...], bar: str) -> None:
    shown = run(folder, *words)
    assert re.search(bar, shown.text), shown.text
    # The cursor is seen, and the line of the bar is empty before anything else is said.
    assert shown.raw.rfind("\x1b[?25h") > shown.raw.rfind("\x1b[?25l")
    assert "\x1b[2K" in shown.raw[: shown.raw.rfind("\n")]


def test_a_pipe_sees_no_bar(folder: Path) -> None:
    words = [FRAMEGATE, "journal", "diff", "out", "out"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout


def test_json_on_a_terminal_has_no_bar(folder: Path) -> None:
    assert "\x1b" not in run(folder, "journal", "diff", "out", "out", "--json").raw


def test_ctrl_c_takes_the_bar_away(folder: Path) -> None:
    shown = on_terminal(("journal", "diff", "out", "out"), folder, dict(os.environ), interrupt_at="compare journals")
    assert shown.code == 1, shown
    assert "[FG-998 INTERRUPTED]" in shown.text
    assert "Traceback" not in shown.text
    assert shown.raw.rfind("\x1b[?25h") > shown.raw.rfind("\x1b[?25l")
