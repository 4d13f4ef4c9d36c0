# SPDX-License-Identifier: Apache-2.0
"""What a join left out, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.sections import InputSection
from framegate.joinbarrier.journal.causes import EXPLAINED, Cause
from framegate.joinbarrier.journal.journal import Journal
from framegate.schema.console.quantities import count, duration


class NotJoined(Mapping[str, dict[str, int]]):
    """Of each input how many frames are in no row, by cause. Printed, it is a sentence for each cause."""

    def __init__(self, causes: Mapping[str, Mapping[str, int]], misses: Mapping[str, str] | None = None) -> None:
        self._causes = {name: {cause: n for cause, n in each.items() if n} for name, each in causes.items()}
        self._misses = misses or {}

    def __getitem__(self, name: str) -> dict[str, int]:
        return self._causes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._causes)

    def __len__(self) -> int:
        return len(self._causes)

    @property
    def frames(self) -> int:
        """All of them together."""
        return sum(sum(each.values()) for each in self._causes.values())

    def __str__(self) -> str:
        lines = [
            f"{name}: {count(frames)} {'frame' if frames == 1 else 'frames'}, {cause}: {EXPLAINED[Cause(cause)]}"
            for name, causes in self._causes.items()
            for cause, frames in causes.items()
        ]
        return "\n".join([*lines, *self._misses.values()]) or "every frame was joined"

    def __repr__(self) -> str:
        return f"<NotJoined {self._causes}>"


@dataclass(frozen=True, slots=True)
class _Times:
    """When the frames of an input were captured, as far as a journal has them; sorted."""

    joined: Any
    others: Any

    @property
    def every(self) -> Any:
        return np.sort(np.concatenate([self.joined, self.others]))


def misses_of(config: JoinConfig, journal: Journal) -> dict[str, str]:
    """For each input with a bound in time: how far its nearest frames were from the driving frames without a row."""
    driver = config.drive.input if config.drive.kind == "input" else ""
    bounded = [each for each in config.input if each.tolerance_ns is not None and each.name != driver]
    if not driver or not bounded:
        return {}
    table, unmatched = journal.to_arrow(), journal.unmatched(frame_by_frame=True)
    alone = _times_of(table, unmatched, driver).others
    found = {}
    for each in bounded:
        line = _miss(each, alone, _times_of(table, unmatched, each.name).every)
        if line is not None:
            found[each.name] = line
    return found


def _miss(each: InputSection, alone: Any, times: Any) -> str | None:
    if not len(alone) or not len(times):
        return None
    behind = np.searchsorted(times, alone)
    before = np.abs(alone - times[np.clip(behind - 1, 0, len(times) - 1)])
    after = np.abs(alone - times[np.clip(behind, 0, len(times) - 1)])
    away = before if each.pick != "nearest" else np.minimum(before, after)
    missed = away[away > (each.tolerance_ns or 0)]
    if not len(missed):
        return None
    return (
        f"{each.name}: {count(len(missed))} times no frame lay within {duration(each.tolerance_ns)}: the nearest was "
        f"{duration(int(np.median(missed)), 4)} away at the median, {duration(int(missed.max()), 4)} at most"
    )


def _times_of(table: pa.Table, unmatched: pa.Table, name: str) -> _Times:
    joined = table.column(name).combine_chunks().field("timestamp_ns").drop_null().to_numpy()
    own = unmatched.filter(pc.equal(unmatched["input"], name))
    return _Times(joined, own["timestamp_ns"].drop_null().to_numpy())
