# SPDX-License-Identifier: Apache-2.0
"""``framegate journal``: what is printed, as text and as JSON, and the exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from framegate.joinbarrier.journal.layout import segment_names

from framegate import cli
from tests.unit.joinbarrier.journal.journal_world import EPOCH, OUT_STREAM, fill, segments_of, writer

WATCHDOG_S = 60


class Ran:
    """One command, its exit code and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: str | Path) -> None:
        self.code = cli.run(["journal", *map(str, words)])
        shown = capsys.readouterr()
        self.lines, self.errors = shown.out.splitlines(), shown.err

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


def test_verify_prints_the_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [4, 3])
    ran = Ran(capsys, "verify", folder)
    assert (ran.code, ran.lines) == (0, ["rows=7 batches=2 segments=2"])
    (summary,) = Ran(capsys, "verify", folder, "--json").objects
    assert (summary["event"], summary["rows"], summary["batches"], summary["segments"]) == ("summary", 7, 2, 2)


def test_verify_ends_with_the_first_inconsistency(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [4, 3, 2])
    (folder / "segments" / str(segment_names(folder, "rows")[1])).unlink()
    ran = Ran(capsys, "verify", folder)
    assert (ran.code, ran.lines) == (1, [])
    assert ran.errors.startswith("[FG-431 JOURNAL_DAMAGED] ")
    assert "first_row=4 last_row=6" in ran.errors
    (error,) = Ran(capsys, "verify", folder, "--json").objects
    assert (error["event"], error["code"], error["facts"]["first_row"]) == ("error", 431, 4)


def test_ls_tells_what_it_is_with_segments_and_readers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import framegate as fg

    made = segments_of(folder, [4, 3])
    made.unmatched("left", 1, "late")
    fill(made, 1)
    list(fg.journal(folder).rows("spark"))
    journal, *others = Ran(capsys, "ls", folder, "--json").objects
    assert (journal["out_stream"], journal["journal_epoch"], journal["writer"]) == (OUT_STREAM, EPOCH, "running")
    assert (journal["first_row"], journal["next_row"]) == (0, 8)
    assert [(each["event"], each.get("segment"), each.get("reader")) for each in others] == [
        ("segment", "00000001-0000000000000000.arrow", None),
        ("segment", "00000002-0000000000000004.arrow", None),
        ("segment", "00000003-0000000000000007.open", None),
        ("segment", "00000001.open", None),
        ("reader", None, "spark"),
    ]
    ran = Ran(capsys, "ls", folder)
    assert ran.code == 0
    assert f"output {OUT_STREAM}, sequence: left (10001), right (10002)" in ran.lines
    made.close()
    assert Ran(capsys, "ls", folder, "--json").objects[0]["writer"] == "closed"


def test_ls_of_no_journal_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "ls", folder)
    assert ran.code == 1
    assert ran.errors.startswith("[FG-430 JOURNAL_MISSING] ")


@pytest.mark.parametrize(
    ("rows", "want"), [(":", [0, 1, 2, 3, 4]), ("1:3", [1, 2]), ("3:", [3, 4]), (":2", [0, 1]), ("9:", [])]
)
def test_show_prints_the_rows_of_a_range(
    folder: Path, capsys: pytest.CaptureFixture[str], rows: str, want: list[int]
) -> None:
    segments_of(folder, [3, 2])
    *found, summary = Ran(capsys, "show", folder, "--rows", rows, "--json").objects
    assert [row["row"] for row in found] == want
    assert (summary["event"], summary["rows"]) == ("summary", len(want))


def test_show_prints_a_row_with_all_that_is_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [3])
    row = Ran(capsys, "show", folder, "--rows", "2:3", "--json").objects[0]
    want = {"status": "present", "seq": 2, "timestamp_ns": 2_000_000, "epoch": 1, "trace_id": 0}
    assert row["left"] == {**want, "dtype": "uint16", "shape": [2, 3], "bytes": 12}
    assert row["right"] == {**dict.fromkeys(row["right"]), "status": "stale"}
    columns, line = (re.split(" {2,}", each.strip()) for each in Ran(capsys, "show", folder, "--rows", "2:3").lines)
    shown = dict(zip(columns, line, strict=True))
    assert local_ns(shown.pop("joined at")) // 1_000_000_000 == row_time_ns(row["joined_at"]) // 1_000_000_000
    assert shown == {
        "row": "2",
        "out": "1:2",
        "time": "0.002000000 s",
        "skew": "-",
        "left": "#2",
        "left at": "0 ns",
        "left frame": "uint16[2x3]",
        "right": "stale",
        "right at": "-",
        "right frame": "-",
    }


def local_ns(text: str) -> int:
    """A local time that was printed, in nanoseconds of the wall clock."""
    day, time, _zone = text.split()
    return int(datetime.fromisoformat(f"{day} {time}").timestamp() * 1e9)


def row_time_ns(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1e9)


def test_rows_stand_below_each_other_whatever_their_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [120])
    head, *lines = Ran(capsys, "show", folder).lines
    assert len(lines) == 120
    for column in ("left frame", "right frame"):
        place = head.index(column)
        assert {line[place - 2 : place] for line in lines} == {"  "}
        assert all(line[place] != " " for line in lines)


def test_ls_tells_a_reader_that_has_ended_from_one_that_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [4]).close()
    read = "import sys, framegate as fg; list(fg.journal(sys.argv[1]).rows(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", read, str(folder), "ended"], check=True, timeout=WATCHDOG_S)
    import framegate as fg

    list(fg.journal(folder).rows("here"))
    lines = Ran(capsys, "ls", folder).lines
    assert "reading" in next(line for line in lines if line.startswith("here "))
    ended = next(line for line in lines if line.startswith("ended "))
    assert "ended, holds its rows for" in ended
    assert "(ended)" in ended
    found = [each for each in Ran(capsys, "ls", folder, "--json").objects if each["event"] == "reader"]
    assert {each["reader"]: (each["is_living"], each["is_running"]) for each in found} == {
        "ended": (True, False),
        "here": (True, True),
    }


def test_unmatched_counts_frames_by_cause_and_calls_what_is_too_much_surplus(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = segments_of(folder, [4])
    for seq in (10, 11, 12):
        made.unmatched("left", seq, "no_match")
    made.unmatched("left", 13, "late")
    made.unmatched("right", 14, "no_partner")
    fill(made, 1)
    made.close()
    lines = Ran(capsys, "unmatched", folder).lines
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["left", "late", "1"],
        ["left", "no_match", "3"],
        ["right", "no_partner", "1"],
    ]
    assert "surplus:" in lines[2]
    assert lines[-1] == "not joined: left 1, right 1; surplus: left 3"
    *found, summary = Ran(capsys, "unmatched", folder, "--json").objects
    assert {(each["input"], each["cause"], each["frames"]) for each in found} == {
        ("left", "late", 1),
        ("left", "no_match", 3),
        ("right", "no_partner", 1),
    }
    assert (summary["frames"], summary["surplus"]) == (5, {"left": 3, "right": 0})
    head, first, *_ = Ran(capsys, "unmatched", folder, "--ranges").lines
    assert head.split() == ["input", "epoch", "frames", "time", "output", "noted", "at", "cause"]
    assert (first.split()[0], first.split()[-1]) == ("left", "no_match")


@pytest.mark.parametrize("rows", ["5", "a:b", "-1:2", "1:2:3"])
def test_show_refuses_what_is_no_range(folder: Path, capsys: pytest.CaptureFixture[str], rows: str) -> None:
    segments_of(folder, [3])
    ran = Ran(capsys, "show", folder, f"--rows={rows}")
    assert ran.code == 2
    assert ran.errors.startswith("[FG-907 WRONG_USAGE] ")


def test_show_of_dropped_rows_names_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [3, 2]).drop_oldest()
    ran = Ran(capsys, "show", folder, "--rows", "1:5")
    assert ran.code == 1
    assert "first_row=1 last_row=2 rows=2" in ran.errors


def test_tail_prints_the_last_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [3, 4])
    *rows, _ = Ran(capsys, "tail", folder, "-n", "2", "--json").objects
    assert [row["row"] for row in rows] == [5, 6]
    _columns, *lines = Ran(capsys, "tail", folder).lines
    assert [line.split()[0] for line in lines] == list("0123456")


def test_tail_follows_until_the_writer_closes(folder: Path) -> None:
    made = segments_of(folder, [3])
    words = [sys.executable, "-m", "framegate", "journal", "tail", str(folder), "-f", "-n", "1", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["row"] == 2
        fill(made, 1)
        assert json.loads(process.stdout.readline())["row"] == 3
        made.close()
        assert json.loads(process.stdout.readline())["event"] == "summary"
        assert process.wait(WATCHDOG_S) == 0


def test_tail_ends_cleanly_when_it_is_told_to(folder: Path) -> None:
    segments_of(folder, [3])
    words = [sys.executable, "-m", "framegate", "journal", "tail", str(folder), "--follow", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for row in range(3):
            assert json.loads(process.stdout.readline())["row"] == row
        os.kill(process.pid, signal.SIGINT)
        assert json.loads(process.stdout.readline()) == {"event": "summary", "rows": 3, "lost_rows": 0}
        assert process.wait(WATCHDOG_S) == 0


def test_diff_tells_what_is_not_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows in (("a", 4), ("b", 3)):
        (folder / name).mkdir()
        segments_of(folder / name, [rows])
    ran = Ran(capsys, "diff", folder / "a", folder / "b")
    assert (ran.code, ran.lines) == (1, ["- out 1:3", "same=3 lost=1 gained=0 changed=0"])
    assert Ran(capsys, "diff", folder / "b", folder / "a", "--json").objects == [
        {"event": "gained", "out_epoch": 1, "out": 3, "repeat": 0},
        {"event": "summary", "same": 3, "lost": 0, "gained": 1, "changed": 0, "not_compared": 0},
    ]
    assert Ran(capsys, "diff", folder / "a", folder / "a").code == 0


def test_export_writes_a_parquet_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segments_of(folder, [3, 2])
    target = folder / "out.parquet"
    (summary,) = Ran(capsys, "export", folder, target, "--json").objects
    assert (summary["rows"], summary["bytes"]) == (5, target.stat().st_size)
    assert pq.read_table(target).num_rows == 5


def test_an_empty_journal_is_listed_and_verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer(folder)
    assert Ran(capsys, "ls", folder).code == 0
    assert Ran(capsys, "verify", folder).lines == ["rows=0 batches=0 segments=0"]
    assert Ran(capsys, "tail", folder).lines == []
