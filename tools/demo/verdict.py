# SPDX-License-Identifier: Apache-2.0
"""Whether what came out is right: every row looked at once, the motion that was sent, and every frame accounted for."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from framegate.schema.errors import DemoWrong
from framegate.shmpool.commands.moving import moved_by
from framegate.tools.demo.looking import Finding

RECENT: Final = 200
"""Rows whose lag the table shows."""


class Verdict:
    """Takes findings as they come, in the order of their rows. The first that is wrong is an error."""

    def __init__(self, cameras: Sequence[str], shape: tuple[int, int], *, realtime_minus_monotonic_ns: int = 0) -> None:
        self._cameras = tuple(cameras)
        self._shape = shape
        self._offset_ns = realtime_minus_monotonic_ns
        self._moved = array("q")
        self._join_lags_ns, self._result_lags_ns = array("q"), array("q")
        self._newest_ns = array("q")
        self._differences = array("d")

    @property
    def rows(self) -> int:
        """How many were looked at; all of them were right."""
        return len(self._newest_ns)

    def take(self, finding: Finding, done_ns: int) -> None:
        """Check what was found in the next row. Raises DemoWrong."""
        if finding.row != self.rows:
            raise DemoWrong("the query left out a row, or saw one twice", want_row=self.rows, have_row=finding.row)
        self._check_motion(finding)
        self._moved.extend(finding.moved[:2])
        self._newest_ns.append(finding.newest_ns)
        self._join_lags_ns.append(finding.joined_ns - self._offset_ns - finding.newest_ns)
        self._result_lags_ns.append(done_ns - finding.newest_ns)
        self._differences.append(finding.difference)

    def _check_motion(self, finding: Finding) -> None:
        want = moved_by(finding.out_seq, self._shape)
        if len(finding.moved) != 2 * len(self._cameras):
            raise DemoWrong("a joined set without all its pictures", row=finding.row, have=len(finding.moved) // 2)
        for index, name in enumerate(self._cameras):
            have = tuple(finding.moved[2 * index : 2 * index + 2])
            if have != want:
                raise DemoWrong(
                    "a camera's picture of a joined set is not of the moment that the others show",
                    row=finding.row,
                    out_seq=finding.out_seq,
                    camera=name,
                    want_moved="x".join(map(str, want)),
                    have_moved="x".join(map(str, have)),
                )

    def moved(self, row: int) -> tuple[int, int] | None:
        """Rows and columns that the scene had gone in a row; None where it was not looked at."""
        found = self._moved[2 * row : 2 * row + 2]
        return (found[0], found[1]) if len(found) == 2 else None

    def recent_lag_ms(self) -> float | None:
        """The median from capture to result, of the last rows."""
        found = self._result_lags_ns[-RECENT:]
        return float(np.median(found)) / 1e6 if found else None

    def check_account(self, joined: Mapping[str, Any], made: Mapping[str, int]) -> None:
        """Check the sums: the join's summary, and how many frames each camera made. Raises DemoWrong."""
        rows = int(joined["rows"])
        if not rows:
            raise DemoWrong("nothing was joined", frames=sum(made.values()))
        if rows != self.rows:
            raise DemoWrong("the query did not look at every row", want_rows=rows, have_rows=self.rows)
        for name, frames in made.items():
            told = int(joined["unmatched"].get(name, 0))
            if frames != rows + told:
                raise DemoWrong(
                    "frames that are neither in a row nor in the table of what was not joined",
                    camera=name,
                    frames=frames,
                    joined=rows,
                    not_joined=told,
                )

    def measured(self, row_bytes: int) -> dict[str, Any]:
        """Rates and lags over the whole run. A rate needs two rows."""
        seconds = (self._newest_ns[-1] - self._newest_ns[0]) / 1e9 if self.rows else 0.0
        rate = (self.rows - 1) / seconds if seconds > 0 else 0.0
        return {
            "rows_per_s": round(rate, 1),
            "gb_per_s": round(rate * row_bytes / 1e9, 4),
            "join_lag_ms": _lags(self._join_lags_ns),
            "result_lag_ms": _lags(self._result_lags_ns),
            "mean_difference": round(float(np.mean(self._differences)), 3) if self.rows else None,
        }


def _lags(lags_ns: array[int]) -> dict[str, float]:
    """Milliseconds; of no rows none."""
    if not lags_ns:
        return {}
    half, nearly_all = np.percentile(lags_ns, (50, 99))
    return {"p50": round(float(half) / 1e6, 3), "p99": round(float(nearly_all) / 1e6, 3)}
