# SPDX-License-Identifier: Apache-2.0
"""Every fenced block of every page runs as printed, page by page and in order, or says above itself why it does not.

A block that the tests cannot run has a line `*Not run by the tests: REASON*` above it, where readers see it too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.outside.bed import Bed, Process, until

ROOT = Path(__file__).resolve().parents[2]
MARKED_MAX = 7
"""Blocks that are not run. Make one more run instead of raising it."""
SESSIONS_S = 300.0
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"\*Not run by the tests: (\S.*)\*\s*\Z")
_COMMAND = re.compile(r"^(framegate|make|pip|python|import|from) ?\S", re.MULTILINE)
# What a shell has started in the background ends with the block.
_TRAP = "trap 'code=$?; kill $(jobs -p) 2>/dev/null || true; wait || true; exit $code' EXIT\n"
_DRIVER = "framegate driver\n"


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None
    """Why it is not run."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in _FENCE.finditer(text):
        mark = _MARK.search(text[: found.start()])
        line = text.count("\n", 0, found.start()) + 1
        yield Block(str(page.relative_to(ROOT)), line, found[2], found[3], mark and mark[1])


def to_run(page: Path) -> list[Block]:
    return [each for each in blocks(page) if each.language and each.reason is None]


# --- what a page takes for granted -----------------------------------------------------------------------------


def driver(bed: Bed) -> None:
    bed.driver()


def joined(bed: Bed) -> None:
    """A journal with the inputs left and right in out/joined."""
    bed.driver()
    config = bed.config("joined", "sequence", {"left": {"stream": 10001}, "right": {"stream": 10002}})
    (bed.folder / "out").mkdir()
    config.write_text(config.read_text().replace('"joined"', '"out/joined"'))
    join = bed.join(config)
    for stream in (10001, 10002):
        bed.rate(stream, 200, 40)
    join.summary()


def recorded(bed: Bed) -> None:
    """A recording with payloads."""
    running = bed.driver()
    recorder = bed.run("record", "demo.mcap", "--streams", "10001,10002", "--payload", "--json", is_ready=True)
    producers = [bed.rate(stream, 200, 40) for stream in (10001, 10002)]
    for each in producers:
        each.summary()
    recorder.interrupted()
    running.interrupted()


def pipeline(bed: Bed) -> None:
    """A recording, a join of its streams, and a driver that takes checkpoints."""
    recorded(bed)
    assert bed.run("join", "--example", "lockstep").ended() == 0
    (bed.folder / "lockstep.toml").rename(bed.folder / "join.toml")
    (bed.folder / "driver.toml").write_text('[checkpoint.default]\ndir = "checkpoints"\ninterval_ms = 1000\n')


GRANTED: dict[str, Callable[[Bed], None]] = {
    "joinbarrier/README.md": driver,
    "joinbarrier/journal/README.md": joined,
    "joinbarrier/spark/README.md": joined,
    "recording/README.md": recorded,
    "shmpool/README.md": driver,
    "tools/README.md": pipeline,
}
LONG = {"tools/demo/README.md"}
"""Several demos, one after the other."""


# --- the tests -------------------------------------------------------------------------------------------------


def test_every_block_runs_or_says_why_not() -> None:
    found = [each for page in pages() for each in blocks(page)]
    unlabelled = [str(each) for each in found if not each.language and _COMMAND.search(each.text)]
    assert unlabelled == [], "a block that can be run has no language: it would not be run"
    unknown = {each.language for each in found if each.reason is None} - {"", "sh", "python", "toml"}
    assert unknown == set(), "blocks of this language are not run"
    marked = [each for each in found if each.reason is not None]
    assert len(marked) <= MARKED_MAX, [str(each) for each in marked]
    fences = sum(len(re.findall(r"^ *```", page.read_text(), re.MULTILINE)) for page in pages())
    assert fences == 2 * len(found), "a fence that this file does not understand"


def _sessions() -> list[object]:
    found = [page for page in pages() if to_run(page)]
    return [
        pytest.param(page, id=name, marks=[pytest.mark.long] if name in LONG else [])
        for page in found
        for name in [str(page.relative_to(ROOT))]
    ]


@pytest.mark.parametrize("page", _sessions())
def test_the_blocks_of_a_page_run_as_printed(own_bed: Bed, page: Path) -> None:
    own_bed.environment["PATH"] = f"{Path(sys.executable).parent}:{own_bed.environment['PATH']}"
    if prepare := GRANTED.get(str(page.relative_to(ROOT))):
        prepare(own_bed)
    for block in to_run(page):
        _run(own_bed, block)


def _run(bed: Bed, block: Block) -> None:
    if block.language == "toml":
        file = bed.folder / "printed.toml"
        file.write_text(block.text)
        doctor = bed.run("doctor", "--config", file, "--json")
        doctor.ended()
        [found] = [each for each in doctor.says(event="doctor")["findings"] if each["name"] == "configuration"]
        assert found["status"] == "ok", f"{block}: {found}"
        return
    process = _started(bed, block)
    if block.text.endswith(_DRIVER):
        # A terminal of its own: it goes on beside the blocks that follow.
        until(lambda: process.has_ended or any(line.startswith("ready") for line in process.lines), f"{block}")
        assert not process.has_ended, f"{block}: {process}"
    else:
        assert process.ended(SESSIONS_S) == 0, f"{block}: {process}"
        assert "***Test Failed***" not in process.text, f"{block}: {process}"


def _started(bed: Bed, block: Block) -> Process:
    if block.language == "sh":
        return bed.shell(block.text if block.text.endswith(_DRIVER) else _TRAP + block.text)
    if block.text.startswith(">>>"):
        file = bed.folder / "printed.txt"
        file.write_text(block.text)
        return bed.python("import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], False).failed)", file)
    return bed.python(block.text)
