# SPDX-License-Identifier: Apache-2.0
"""Takes joined sets out of the live journal, a few over the whole run, for the contact sheet."""

from __future__ import annotations

from typing import Final

from framegate.joinbarrier.journal.journal import journal
from framegate.joinbarrier.journal.row import Row
from framegate.tools.demo.plan import LAG, Plan
from framegate.tools.demo.sheet import Sample, sample

SAMPLES: Final = 6


class Sampler:
    """An onlooker without a name: it holds nothing back, and passes over what is gone."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._due = [plan.frames * (2 * index + 1) // (2 * SAMPLES) for index in range(SAMPLES)]
        self.samples: list[Sample] = []

    def work(self, rows: int) -> None:
        """Take one when it is time; ``rows`` are sealed."""
        if not self._due or rows <= max(self._due[0], LAG):
            return
        while self._due and rows > self._due[0]:
            del self._due[0]
        self._take(rows - 1)

    def last(self, rows: int) -> None:
        """Of a run that was too short for any, take its end."""
        if not self.samples and rows:
            self._take(rows - 1)

    def _take(self, row: int) -> None:
        reading = journal(self._plan.journal).rows(start=max(row - LAG, 0), stop=row + 1, on_loss="skip")
        found = list(reading)
        if not found:
            return
        names = [camera.name for camera in self._plan.cameras]
        newest = found[-1]
        twin = next((each for each in found if _seq(each, names[-1]) == _seq(newest, names[0])), None)
        if twin is not None:
            self.samples.append(sample(newest["row"], {name: newest[name] for name in names}, twin[names[-1]]))


def _seq(row: Row, name: str) -> int | None:
    return row.inputs[name].seq
