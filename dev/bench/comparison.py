# SPDX-License-Identifier: Apache-2.0
"""What got slower or faster since an earlier report, beyond the noise of both runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table

from dev.bench.result import Result


@dataclass(frozen=True, slots=True)
class Change:
    """A figure whose rounds of then and now do not overlap."""

    question: str
    before: float
    now: float
    unit: str
    is_worse: bool

    @property
    def ratio(self) -> float:
        """How many times the figure of then it is."""
        return self.now / self.before if self.before else float("inf")

    def row(self) -> tuple[str, ...]:
        """For the table."""
        then, now = (f"{figure:.4g} {self.unit}" for figure in (self.before, self.now))
        return self.question, then, now, f"{self.ratio:.2f}", "slower" if self.is_worse else "faster"


def changes(before: Sequence[Result], now: Sequence[Result]) -> Iterator[Change]:
    """Each figure that stands in both and whose rounds lie wholly apart. One without rounds is never told."""
    then = {each.question: each for each in before}
    for each in now:
        old = then.get(each.question)
        if old is None or old.measured is None or each.measured is None or not (old.spread and each.spread):
            continue
        has_grown = each.spread[0] > old.spread[1]
        has_shrunk = each.spread[1] < old.spread[0]
        if has_grown or has_shrunk:
            yield Change(each.question, old.measured, each.measured, each.unit, has_grown != each.is_more_better)


def show_changes(found: Sequence[Change], *, as_json: bool) -> None:
    """Print them, the worst first."""
    ordered = sorted(found, key=lambda each: (not each.is_worse, -abs(each.ratio)))
    if as_json:
        for each in ordered:
            emit({"event": "change", **asdict(each)})
        return
    if not ordered:
        print("compared: nothing changed beyond the noise")
        return
    styles = {"slower": "bold red", "faster": "green"}
    print_table(("question", "before", "now", "ratio", "verdict"), [each.row() for each in ordered], styles=styles)
