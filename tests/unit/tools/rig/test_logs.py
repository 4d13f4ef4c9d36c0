# SPDX-License-Identifier: Apache-2.0
"""The log of a rig: bounded, in one order, and followed across the change of its files."""

from __future__ import annotations

import io
import os
import re
import select
from pathlib import Path

from framegate.tools.rig.log_file import LogFile, LogLine, LogTail, read_logs, stamp_of
from framegate.tools.rig.part import Part
from framegate.tools.rig.part_words import in_words, is_ready_line
from framegate.tools.rig.screen import Screen

S = 1_000_000_000


def line(at: int, name: str = "left", text: str = "") -> LogLine:
    return LogLine(stamp_of(at * S), name, text or f"line {at}")


def test_lines_of_all_parts_read_as_one_log(tmp_path: Path) -> None:
    for name, times in (("left", (1, 4)), ("right", (2, 3))):
        log = LogFile(tmp_path / f"{name}.log", 1 << 20)
        for at in times:
            log.write(line(at, name))
        log.close()
    found = read_logs([tmp_path / "left.log", tmp_path / "right.log"])
    assert [(each.name, each.text) for each in found] == [
        ("left", "line 1"), ("right", "line 2"), ("right", "line 3"), ("left", "line 4")
    ]  # fmt: skip


def test_a_log_keeps_its_newer_half_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "left.log"
    log = LogFile(path, 1000)
    for at in range(1, 200):
        log.write(line(at))
    log.close()
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 1100
    found = [each.text for each in read_logs([path])]
    assert found[-1] == "line 199"
    assert found == [f"line {at}" for at in range(200 - len(found), 200)]


def test_a_tail_misses_nothing_when_the_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "left.log"
    log = LogFile(path, 200)
    tail = LogTail(path)
    found = []
    for at in range(1, 50):
        log.write(line(at))
        found += tail.read()
    log.close()
    tail.close()
    assert [each.text for each in found] == [f"line {at}" for at in range(1, 50)]


def test_a_tail_begins_at_the_end_and_waits_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "left.log")
    assert tail.read() == []
    log = LogFile(tmp_path / "left.log", 1 << 20)
    log.write(line(1))
    assert [each.text for each in tail.read()] == ["line 1"]
    log.close()
    tail.close()


def test_a_part_cannot_drive_the_terminal_of_the_rig() -> None:
    out = io.StringIO()
    Screen(["left"], stream=out).show(line(1, text="a\x1b[2Jb\rc"))
    assert "\x1b" not in out.getvalue()
    assert "left | a [2Jb c" in out.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_each_part_has_its_colour_on_a_terminal_unless_nobody_wants_one() -> None:
    coloured, plain = Terminal(), Terminal()
    for out, environment in ((coloured, {}), (plain, {"NO_COLOR": "1"})):
        screen = Screen(["left", "right"], stream=out, environment=environment)
        screen.show(line(1, "left"))
        screen.show(line(2, "right", "failed for good: it is broken"))
    codes = re.findall(r"\x1b\[(\d+)m", coloured.getvalue())
    assert len({code for code in codes if code != "0"}) == 3, "two parts, and what is wrong"
    assert "\x1b" not in plain.getvalue()


def test_a_terminal_that_takes_nothing_holds_nobody_up_and_is_told_what_it_missed() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as out, os.fdopen(read_end, "rb", buffering=0) as terminal:
        screen = Screen(["left"], stream=out, environment={})
        for at in range(1, 3000):
            screen.show(line(at, text="ä" * 5000))
        while select.select([terminal], [], [], 0)[0]:
            terminal.read(1 << 20)
        screen.show(line(3000, text="last"))
        said = terminal.read(1 << 20).decode()
    assert re.search(r"rig .*\d+ lines found no room here", said)
    assert said.endswith("left | last\n")


def test_objects_are_read_aloud() -> None:
    error = '{"event": "error", "code": 941, "name": "X", "message": "no", "facts": {"a": 1}, "hint": "try"}'
    assert in_words(error) == ["[FG-941 X] a=1: no", "try"]
    assert in_words('{"event": "ready", "pid": 7, "more": [1]}') == ["ready pid=7"]
    assert in_words("{broken") == ["{broken"]


def test_who_is_ready() -> None:
    own, foreign = Part(name="a", kind="join"), Part(name="b", kind="query", is_own=False, ready_text="runs now")
    assert is_ready_line(own, '{"event": "ready"}')
    assert not is_ready_line(own, '{"event": "summary"}')
    assert is_ready_line(foreign, "it runs now.")
    assert not is_ready_line(foreign, '{"event": "ready"}')
