# SPDX-License-Identifier: Apache-2.0
"""Tab in a shell that has read what `framegate completion` prints."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import FRAMEGATE, WATCHDOG_S, Bed
from tests.outside.terminal import Terminal

ENVIRONMENT = {**os.environ, "PATH": f"{Path(FRAMEGATE).parent}:{os.environ['PATH']}"}
ASK = """
source <(framegate completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_framegate_completion framegate
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, *words: str, **environment: str) -> list[str]:
    """What bash offers for the last word."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", *words],
        cwd=folder,
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folders, of which two hold a journal."""
    for name in ("out/lockstep", "out/nothing", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("out/lockstep", "other"):
        (tmp_path / name / "journal.json").write_text("{}")
    return tmp_path


def test_commands_and_options(folder: Path) -> None:
    assert completed(folder, "framegate", "jo") == ["join", "journal"]
    assert completed(folder, "framegate", "journal", "ver") == ["verify"]
    assert completed(folder, "framegate", "journal", "tail", "--fo") == ["--follow"]
    assert completed(folder, "framegate", "produce", "--stream", "1", "--pattern", "z") == ["zeros"]


@pytest.mark.parametrize("command", [("journal", "verify"), ("journal", "diff", "other"), ("audit",)])
def test_journals_where_a_journal_is_wanted(folder: Path, command: tuple[str, ...]) -> None:
    assert completed(folder, "framegate", *command, "") == ["other", "out/lockstep"]
    assert completed(folder, "framegate", *command, "out/l") == ["out/lockstep"]
    assert completed(folder, "framegate", *command, "./ot") == ["./other"]
    assert completed(folder, "framegate", *command, f"{folder}/ou") == [f"{folder}/out/lockstep"]
    # Then bash goes on with its files.
    assert completed(folder, "framegate", *command, "elsewhere/") == []


def test_streams_that_are_there(own_bed: Bed) -> None:
    own_bed.driver()
    for stream in (10_001, 10_002):
        own_bed.run("produce", "--stream", stream, "--rate", 10, "--shape", "8x8", "--json", is_ready=True)
    base = own_bed.environment["FRAMEGATE_BASE_DIR"]
    found = completed(own_bed.folder, "framegate", "consume", "--stream", "", FRAMEGATE_BASE_DIR=base)
    assert found == ["10001", "10002"]
    found = completed(own_bed.folder, "framegate", "consume", "--base-dir", base, "--stream", "")
    assert found == ["10001", "10002"]
    found = completed(own_bed.folder, "framegate", "record", "--streams", "10001,", FRAMEGATE_BASE_DIR=base)
    assert found == ["10001,10001", "10001,10002"]


def test_streams_by_name_where_they_have_one_and_none_where_they_are_counted(own_bed: Bed) -> None:
    own_bed.driver()
    for stream in ("left", 10_002):
        own_bed.run("produce", "--stream", stream, "--rate", 10, "--shape", "8x8", "--json", is_ready=True)
    base = {"FRAMEGATE_BASE_DIR": own_bed.environment["FRAMEGATE_BASE_DIR"]}
    assert completed(own_bed.folder, "framegate", "consume", "--stream", "", **base) == ["left", "10002"]
    assert completed(own_bed.folder, "framegate", "record", "--streams", "10002,l", **base) == ["10002,left"]
    assert completed(own_bed.folder, "framegate", "journal", "serve", "x", "--streams", "", **base) == []


@pytest.fixture
def shell(folder: Path) -> Iterator[Terminal]:
    with Terminal(["bash", "--norc", "--noprofile", "-i"], folder, {**ENVIRONMENT, "PS1": "ready> "}) as terminal:
        terminal.until("ready> ")
        terminal.write('source <(framegate completion bash); echo its ""there\n')
        terminal.until("its there")
        yield terminal


def test_tab_in_a_shell_that_is_open(shell: Terminal) -> None:
    shell.write("framegate journal ver\tout/l\t")
    shell.until("framegate journal verify out/lockstep")


@pytest.mark.parametrize(("name", "word"), [("bash", "COMPREPLY"), ("zsh", "#compdef framegate"), ("fish", "complete")])
def test_each_shell_has_its_script(folder: Path, name: str, word: str) -> None:
    done = subprocess.run(
        [FRAMEGATE, "completion", name], cwd=folder, capture_output=True, text=True, timeout=WATCHDOG_S, check=True
    )
    assert word in done.stdout
    assert "_FRAMEGATE_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("zsh", '"verify":"Check every check sum, row number and cursor."'), ("fish", "verify\tCheck every check sum")],
)
def test_what_other_shells_are_told(folder: Path, name: str, wanted: str) -> None:
    asked = {
        "_FRAMEGATE_COMPLETE": f"complete_{name}",
        "_TYPER_COMPLETE_ARGS": "framegate journal ver",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [FRAMEGATE],
        cwd=folder,
        env={**ENVIRONMENT, **asked},
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert wanted in done.stdout
