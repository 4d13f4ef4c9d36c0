# SPDX-License-Identifier: Apache-2.0
"""Schedules: the CSV files that `framegate produce --schedule` plays.

The columns are ``at_ms,seq,timestamp_ns`` and optionally ``descriptor_timestamp_ns``, ``fill``, ``barrier``,
``watermark_ms``. A row with ``barrier`` or ``watermark_ms`` and without ``seq`` sends that instead of a frame.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framegate.schema.errors import FileMissing, WrongType

REQUIRED: Final = ("at_ms", "seq", "timestamp_ns")
_WHOLE: Final = re.compile(r"-?[0-9]{1,20}")
OPTIONAL: Final = ("descriptor_timestamp_ns", "fill", "barrier", "watermark_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row of a schedule. Without ``seq`` it is a barrier or a watermark instead of a frame."""

    line: int
    at_ms: float
    seq: int | None
    timestamp_ns: int | None
    descriptor_timestamp_ns: int | None
    fill: int | None
    barrier: int | None
    watermark_ms: int | None


def read_schedule(path: Path) -> list[Step]:
    """Read and check the rows of a file. The first mistake raises an error with its line."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            _check_columns(path, reader.fieldnames or [])
            return list(_checked(path, (_step(path, reader.line_num, row) for row in reader)))
    except OSError as failure:
        raise FileMissing(f"the schedule cannot be read: {failure.strerror}", file=path) from failure
    except (UnicodeDecodeError, csv.Error) as failure:
        raise WrongType(f"the schedule is not a CSV file: {failure}", file=path) from failure


def _check_columns(path: Path, names: Sequence[str]) -> None:
    known = {*REQUIRED, *OPTIONAL}
    if missing := [name for name in REQUIRED if name not in names]:
        raise WrongType(f"the column {missing[0]} is missing", file=path, line=1, wanted=",".join(REQUIRED))
    if repeated := [name for name in names if list(names).count(name) > 1]:
        raise WrongType(f"the column {repeated[0]} is there twice", file=path, line=1)
    if unknown := [name for name in names if name not in known]:
        raise WrongType(
            f"there is no column {unknown[0]!r}", file=path, line=1, wanted=",".join([*REQUIRED, *OPTIONAL])
        )


def _step(path: Path, line: int, row: Mapping[str | None, Any]) -> Step:
    if None in row:
        raise WrongType("the row has more cells than there are columns", file=path, line=line)

    def number(name: str, low: int = 0, high: int = (1 << 64) - 2) -> int | None:
        text = (row.get(name) or "").strip()
        if not text:
            return None
        if not _WHOLE.fullmatch(text) or not low <= int(text) <= high:
            raise WrongType(f"{name} is {text!r}", file=path, line=line, wanted=f"a whole number {low} to {high}")
        return int(text)

    return Step(
        line=line,
        at_ms=_milliseconds(path, line, row.get("at_ms")),
        seq=number("seq", high=(1 << 63) - 1),
        timestamp_ns=number("timestamp_ns"),
        descriptor_timestamp_ns=number("descriptor_timestamp_ns"),
        fill=number("fill", high=255),
        barrier=number("barrier", low=1),
        watermark_ms=number("watermark_ms", low=-(1 << 63), high=(1 << 63) - 1),
    )


def _milliseconds(path: Path, line: int, text: str | None) -> float:
    try:
        at_ms = float(text or "")
    except ValueError:
        at_ms = -1.0
    if not 0 <= at_ms < 1e12:
        raise WrongType(f"at_ms is {text!r}", file=path, line=line, wanted="milliseconds from 0 on")
    return at_ms


def _checked(path: Path, steps: Iterator[Step]) -> Iterator[Step]:
    last_seq = -1
    for step in steps:
        if step.seq is None and step.barrier is None and step.watermark_ms is None:
            raise WrongType("a row has a seq, a barrier or a watermark_ms", file=path, line=step.line)
        if step.seq is not None:
            if step.seq <= last_seq:
                raise WrongType(f"seq {step.seq} does not come after {last_seq}", file=path, line=step.line)
            last_seq = step.seq
        yield step
