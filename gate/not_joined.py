# SPDX-License-Identifier: Apache-2.0
"""The frames that a join left out, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.sections import InputSection
from framegate.joinbarrier.journal.causes import EXPLAINED, Cause
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.unmatched import spread
from framegate.schema.console.quantities import count, duration
from framegate.schema.errors import InvalidValue


class NotJoined(Mapping[str, dict[str, int]]):
    """How many frames of each input are in no row, by cause. Printed, it has a sentence for each cause."""

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
        """The number of all frames that are in no row."""
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
    """The sorted capture times of an input's frames, as far as the journal has them."""

    joined: Any
    others: Any

    @property
    def every(self) -> Any:
        return np.sort(np.concatenate([self.joined, self.others]))


def misses_of(config: JoinConfig, journal: Journal) -> dict[str, str]:
    """For each input whose rule bounds the time: how far its nearest frames were from driving frames without a row."""
    driver = config.drive.input if config.drive.kind == "input" else ""
    bounded = [each for each in config.input if each.tolerance_ns is not None and each.name != driver]
    if not driver or not bounded:
        return {}
    table, unmatched = journal.to_arrow(), journal.unmatched()
    found = {}
    # If there are too many frames to look at one by one, they are only counted.
    with suppress(InvalidValue):
        alone = _times_of(table, unmatched, driver).others
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
        f"about {duration(int(np.median(missed)), 4)} away at the median, {duration(int(missed.max()), 4)} at most"
    )


def _times_of(table: pa.Table, unmatched: pa.Table, name: str) -> _Times:
    """The capture times of an input. Of a range of unmatched frames only the first is known."""
    # Only some fields are read: the payloads beside them may be larger than memory.
    joined = pa.table({key: pc.struct_field(table[name], key) for key in ("epoch", "seq", "timestamp_ns")}).drop_null()
    own = unmatched.filter(pc.equal(unmatched["input"], name))
    known = pa.concat_tables([joined, own.select(joined.column_names).cast(joined.schema).drop_null()])
    spread_out = spread(own)
    others = [
        _estimated(_of_epoch(known, epoch), _of_epoch(spread_out, epoch)["seq"].to_numpy())
        for epoch in spread_out["epoch"].unique().to_pylist()
    ]
    return _Times(joined["timestamp_ns"].to_numpy(), np.concatenate([np.zeros(0, np.int64), *others]))


def _of_epoch(table: pa.Table, epoch: int) -> pa.Table:
    return table.filter(pc.equal(table["epoch"], epoch)).sort_by("seq")


def _estimated(known: pa.Table, seqs: Any) -> Any:
    """Estimated capture times of frames, from the known times of some; empty if no time is known."""
    at, times = known["seq"].to_numpy(), known["timestamp_ns"].to_numpy()
    if not len(at):
        return np.zeros(0, np.int64)
    step_ns = (times[-1] - times[0]) / max(at[-1] - at[0], 1)
    behind = np.maximum(seqs - at[-1], 0) * step_ns
    # Floats are exact enough for differences, and too coarse for the times themselves.
    return times[0] + np.round(np.interp(seqs, at, times - times[0]) + behind).astype(np.int64)
