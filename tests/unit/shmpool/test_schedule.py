# SPDX-License-Identifier: Apache-2.0
"""The CSV that ``framegate produce --schedule`` plays: what it takes, and every mistake with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.errors import FileMissing, WrongType
from framegate.shmpool.commands.schedule import Step, read_schedule

HEAD = "at_ms,seq,timestamp_ns"
ALL = "at_ms,seq,timestamp_ns,descriptor_timestamp_ns,fill,barrier,watermark_ms"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "frames.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_rows_are_frames_barriers_and_watermarks_in_their_order(tmp_path: Path) -> None:
    path = written(tmp_path, ALL, "0,0,,,,,", "1.5,3,77,78,255,,", "2,,,,,9,", "2,,,,,,-5", "3,4,,,,10,11")
    assert read_schedule(path) == [
        _step(2, 0.0, seq=0),
        _step(3, 1.5, seq=3, timestamp_ns=77, descriptor_timestamp_ns=78, fill=255),
        _step(4, 2.0, barrier=9),
        _step(5, 2.0, watermark_ms=-5),
        _step(6, 3.0, seq=4, barrier=10, watermark_ms=11),
    ]


def _step(line: int, at_ms: float, **given: int) -> Step:
    names = ("seq", "timestamp_ns", "descriptor_timestamp_ns", "fill", "barrier", "watermark_ms")
    return Step(line=line, at_ms=at_ms, **{name: given.get(name) for name in names})


def test_columns_that_are_not_needed_may_be_left_out_and_come_in_any_order(tmp_path: Path) -> None:
    (step,) = read_schedule(written(tmp_path, "timestamp_ns,seq,at_ms", "5,1,2"))
    assert (step.timestamp_ns, step.seq, step.at_ms, step.fill) == (5, 1, 2.0, None)


def test_a_file_without_rows_is_a_schedule_without_frames(tmp_path: Path) -> None:
    assert read_schedule(written(tmp_path, HEAD)) == []


def test_gaps_in_the_sequence_are_allowed(tmp_path: Path) -> None:
    assert [step.seq for step in read_schedule(written(tmp_path, HEAD, "0,0,", "0,1000,", "0,1001,"))] == [
        0,
        1000,
        1001,
    ]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ((HEAD, "0,0,", "0,0,"), 3, "seq 0 does not come after 0"),
        ((HEAD, "0,5,", "", "0,4,"), 4, "seq 4 does not come after 5"),
        ((HEAD, "0,,"), 2, "a row has a seq, a barrier or a watermark_ms"),
        ((HEAD, "x,0,"), 2, "at_ms is 'x'"),
        ((HEAD, ",0,"), 2, "at_ms is ''"),
        ((HEAD, "-1,0,"), 2, "at_ms is '-1'"),
        ((HEAD, "nan,0,"), 2, "at_ms is 'nan'"),
        ((HEAD, "inf,0,"), 2, "at_ms is 'inf'"),
        ((HEAD, "0,-1,"), 2, "seq is '-1'"),
        ((HEAD, "0,1.5,"), 2, "seq is '1.5'"),
        ((HEAD, "0,--5,"), 2, "seq is '--5'"),
        ((HEAD, "0,\u00b2,"), 2, "seq is '\u00b2'"),
        ((HEAD, f"0,{2**63},"), 2, "seq is '9223372036854775808'"),
        ((HEAD, f"0,0,{2**64 - 1}"), 2, "timestamp_ns is '18446744073709551615'"),
        ((HEAD + ",fill", "0,0,,256"), 2, "fill is '256'"),
        ((HEAD + ",barrier", "0,0,,0"), 2, "barrier is '0'"),
        ((HEAD + ",watermark_ms", "0,0,,soon"), 2, "watermark_ms is 'soon'"),
        ((HEAD, "0,0,,7"), 2, "more cells than there are columns"),
        (("at_ms,seq",), 1, "the column timestamp_ns is missing"),
        (("",), 1, "the column at_ms is missing"),
        ((HEAD + ",colour",), 1, "there is no column 'colour'"),
        ((HEAD + ",seq",), 1, "the column seq is there twice"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line(
    tmp_path: Path, lines: tuple[str, ...], line: int, words: str
) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(WrongType) as caught:
        read_schedule(path)
    assert (caught.value.facts["file"], caught.value.facts["line"]) == (path, line)
    assert words in caught.value.message


def test_a_file_that_is_not_there_or_not_text_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"absent\.csv"):
        read_schedule(tmp_path / "absent.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00" * 100)
    with pytest.raises(WrongType, match=r"binary\.csv"):
        read_schedule(binary)
