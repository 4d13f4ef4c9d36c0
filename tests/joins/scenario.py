# SPDX-License-Identifier: Apache-2.0
"""Reads a worked join from its folder."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.shmpool.commands.schedule import Step, read_schedule

FOLDER = Path(__file__).parent


class Row(NamedTuple):
    """One row of a journal: ``out`` is its sequence or its time, ``inputs`` a sequence or the status of each."""

    out: int
    inputs: tuple[int | str, ...]


class Unmatched(NamedTuple):
    """Frames of one input that are in no row, and why."""

    input: str
    seq: int
    seq_last: int
    cause: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """One folder."""

    name: str
    folder: Path
    config: JoinConfig

    @property
    def is_by_the_clock(self) -> bool:
        """Whether a real clock makes the rows, so that only predicates can be given."""
        return self.config.drive.kind == "clock"

    def schedules(self) -> dict[str, list[Step]]:
        """What each input's producer plays, by the input's name."""
        return {each.name: read_schedule(self.folder / f"{each.name}.csv") for each in self.config.input}

    def rows(self) -> list[Row]:
        """The rows that are expected."""
        names = [each.name for each in self.config.input]
        return [
            Row(int(next(iter(line.values()))), tuple(_cell(line[name]) for name in names))
            for line in _lines(self.folder / "expected.csv")
        ]

    def unmatched(self) -> list[Unmatched]:
        """The frames that are expected in no row."""
        return [
            Unmatched(line["input"], int(line["seq"]), int(line["seq_last"]), line["cause"])
            for line in _lines(self.folder / "unmatched.csv")
        ]


def scenarios() -> list[Scenario]:
    """All of them, by name."""
    folders = sorted(path.parent for path in FOLDER.glob("*/join.toml"))
    return [Scenario(folder.name, folder, load_join_config(folder / "join.toml", {})) for folder in folders]


def _cell(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        yield from csv.DictReader(line for line in lines if not line.startswith("#"))
