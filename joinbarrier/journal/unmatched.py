# SPDX-License-Identifier: Apache-2.0
"""The table of frames that are in no row. An entry is a range of frames with one cause; this counts and spreads
entries.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from framegate.schema.errors import InvalidValue

SPREAD_MAX: Final = 50_000_000
"""Most frames that are spread out: a range can name more frames than memory holds."""


def frames_of(entries: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many frames each entry stands for. An entry without a sequence stands for one."""
    behind = pc.subtract(entries.column("seq_last"), entries.column("seq"))
    return np.asarray(pc.add(pc.fill_null(behind, 0), 1), np.int64)


def counted(entries: pa.Table) -> dict[str, dict[str, int]]:
    """Count frames by input and cause."""
    counts: dict[str, Counter[str]] = {}
    columns = (entries.column("input").to_pylist(), entries.column("cause").to_pylist(), frames_of(entries).tolist())
    for name, cause, frames in zip(*columns, strict=True):
        counts.setdefault(name, Counter())[cause] += frames
    return {name: dict(each) for name, each in counts.items()}


def spread(entries: pa.Table) -> pa.Table:
    """Make a row for each frame, whose ``seq`` and ``seq_last`` are equal. Raises InvalidValue if memory could not hold
    them.
    """
    frames = frames_of(entries)
    total = int(frames.sum(dtype=object)) if len(frames) else 0
    if total > SPREAD_MAX:
        raise InvalidValue(
            "the entries name too many frames for a row each",
            field="frames",
            found=total,
            want_at_most=SPREAD_MAX,
            hint="Count them instead: unmatched_counts(), or seq_last - seq + 1 of each entry.",
        )
    each = np.repeat(np.arange(len(frames)), frames)
    # How far each frame lies behind the first of its entry.
    behind = np.arange(total) - np.repeat(np.cumsum(frames) - frames, frames)
    firsts = entries.take(pa.array(each))
    table = firsts
    for name in ("seq", "seq_last", "out_seq"):
        first = firsts.column("seq" if name == "seq_last" else name)
        place = table.schema.get_field_index(name)
        table = table.set_column(place, entries.schema.field(place), pc.add(first, pa.chunked_array([behind])))
    return table
