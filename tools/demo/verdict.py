# SPDX-License-Identifier: Apache-2.0
"""Whether what came out is right: every row looked at once, the motion that was sent, and every frame accounted for."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from framegate.joinbarrier.journal.row import Row
from framegate.schema.errors import DemoWrong
from framegate.shmpool.commands.moving import moved_by
from framegate.tools.audit.auditing import Audit
from framegate.tools.demo.looking import Finding


class Verdict:
    """Takes rows and findings as they come, in the order of their rows. The first that is wrong is an error."""

    def __init__(self, cameras: Sequence[str], shape: tuple[int, int], *, realtime_minus_monotonic_ns: int = 0) -> None:
        self._cameras, self._shape, self._offset_ns = cameras, shape, realtime_minus_monotonic_ns
        self._newest_ns, self._join_lags_ns, self._result_lags_ns = array("q"), array("q"), array("q")
        self._apart = array("d")
        self.moved: tuple[int, ...] | None = None
        """Rows and columns that the scene has gone in the newest row that was looked at."""

    @property
    def seen(self) -> int:
        """How many rows came."""
        return len(self._join_lags_ns)

    @property
    def rows(self) -> int:
        """How many were looked at; all of them were right."""
        return len(self._apart)

    def see(self, row: Row) -> None:
        """Note when the newest frame of the next row was made, and when the row was."""
        newest_ns = max(each.timestamp_ns or 0 for each in row.inputs.values())
        joined_ns = round(row["joined_at"].timestamp() * 1e6) * 1000 - self._offset_ns
        self._newest_ns.append(newest_ns)
        self._join_lags_ns.append(joined_ns - newest_ns)

    def take(self, finding: Finding, done_ns: int) -> None:
        """Check what was found in the next row. Raises DemoWrong."""
        if finding.row != self.rows:
            raise DemoWrong("the query left out a row, or saw one twice", want_row=self.rows, have_row=finding.row)
        want = moved_by(finding.out_seq, self._shape)
        for index, name in enumerate(self._cameras):
            if (have := tuple(finding.moved[2 * index : 2 * index + 2])) != want:
                said = "a camera's picture of a joined set is not of the moment that the others show"
                where: dict[str, Any] = {"row": finding.row, "out_seq": finding.out_seq, "camera": name}
                raise DemoWrong(said, **where, want_moved=want, have_moved=have)
        self.moved = want
        self._result_lags_ns.append(done_ns - self._newest_ns[finding.row])
        self._apart.append(finding.apart)

    def check(self, rows: int, books: Audit) -> None:
        """Check the sums: so many rows were joined, and these are their books. Raises DemoWrong."""
        if not rows:
            raise DemoWrong("nothing was joined", frames=sum(book.published or 0 for book in books.books.values()))
        if rows != self.rows:
            raise DemoWrong("the query did not look at every row", want_rows=rows, have_rows=self.rows)
        for found in books.findings:
            raise DemoWrong(found.what, camera=found.input, first=found.first, last=found.last)

    def recent_lag_ms(self) -> float | None:
        """The median from capture to result, of the last 200 rows."""
        return float(np.median(self._result_lags_ns[-200:])) / 1e6 if self.rows else None

    def measured(self, row_bytes: int) -> dict[str, Any]:
        """Rates and lags over the whole run. A rate needs two rows."""
        seconds = (self._newest_ns[-1] - self._newest_ns[0]) / 1e9
        rate = (self.rows - 1) / seconds if seconds > 0 else 0.0
        return {
            "rows_per_s": round(rate, 1),
            "gb_per_s": round(rate * row_bytes / 1e9, 4),
            "join_lag_ms": _lags(self._join_lags_ns),
            "result_lag_ms": _lags(self._result_lags_ns),
            "mean_difference": round(float(np.mean(self._apart)), 3),
        }


def _lags(lags_ns: array[int]) -> dict[str, float]:
    half, nearly_all = np.percentile(lags_ns, (50, 99))
    return {"p50": round(float(half) / 1e6, 3), "p99": round(float(nearly_all) / 1e6, 3)}
