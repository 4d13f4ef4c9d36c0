# SPDX-License-Identifier: Apache-2.0
"""What the demo shows while it runs: one table that changes on a terminal, a line a second anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, TextIO

from framegate.schema.console.reporting import emit
from framegate.shmpool.clock import monotonic_ns

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Column

_LINE_NS: Final = 1_000_000_000
_DRAW_NS: Final = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraNow:
    """How far one camera is."""

    name: str
    frames: int
    frames_per_s: float
    behind: int
    """Frames that were made and are in no row yet."""
    not_joined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """How far everything is."""

    seconds: float
    cameras: Sequence[CameraNow]
    rows: int
    rows_per_s: float
    gb_per_s: float
    computed: int
    computed_per_s: float
    lag_ms: float | None
    moved: tuple[int, int] | None


class Table:
    """Shows how things stand, as often as the eye or a log can follow."""

    def __init__(self, show: Callable[[Now], None], period_ns: int) -> None:
        self._show, self._period_ns = show, period_ns
        self._due_ns = monotonic_ns()

    @property
    def is_due(self) -> bool:
        """Whether it is time again."""
        return monotonic_ns() >= self._due_ns

    def show(self, now: Now) -> None:
        """Show it."""
        self._due_ns = monotonic_ns() + self._period_ns
        self._show(now)


@contextmanager
def table(*, as_json: bool, stream: TextIO | None = None) -> Iterator[Table]:
    """The right one for whoever looks on."""
    out = stream or sys.stdout
    if as_json:
        yield Table(lambda now: emit(as_object(now)), _LINE_NS)
    elif out.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(file=out), auto_refresh=False) as live:
            yield Table(lambda now: live.update(_drawn(now), refresh=True), _DRAW_NS)
    else:
        yield Table(lambda now: print(line(now), file=out, flush=True), _LINE_NS)


def as_object(now: Now) -> dict[str, object]:
    """For programs."""
    return {"event": "progress", **asdict(now)}


def line(now: Now) -> str:
    """For logs and pipes."""
    made = "  ".join(
        f"{each.name} {each.frames} ({each.frames_per_s:.0f}/s, {each.behind} behind)" for each in now.cameras
    )
    lost = sum(each.not_joined for each in now.cameras)
    return (
        f"{now.seconds:5.1f} s  {made}  joined {now.rows} ({now.rows_per_s:.0f}/s, {now.gb_per_s:.2f} GB/s)"
        f"  not joined {lost}  computed {now.computed} ({now.computed_per_s:.0f}/s), {_lag(now)}"
    )


def _lag(now: Now) -> str:
    return "no result yet" if now.lag_ms is None else f"{now.lag_ms:.1f} ms after capture"


def _drawn(now: Now) -> Group:
    from rich.console import Group
    from rich.table import Table as Drawn

    cameras = Drawn("camera", *(_right(name) for name in ("frames", "frames/s", "behind", "not joined")))
    for each in now.cameras:
        cells = (each.frames, f"{each.frames_per_s:.0f}", each.behind, each.not_joined)
        cameras.add_row(each.name, *(str(cell) for cell in cells))
    rest = Drawn("", *(_right(name) for name in ("rows", "rows/s", "")))
    rest.add_row("joined", str(now.rows), f"{now.rows_per_s:.0f}", f"{now.gb_per_s:.2f} GB/s")
    rest.add_row("computed", str(now.computed), f"{now.computed_per_s:.0f}", _lag(now))
    moved = "" if now.moved is None else f"the scene has gone {now.moved[0]} rows and {now.moved[1]} columns"
    return Group(f"{now.seconds:.1f} s  {moved}", cameras, rest)


def _right(name: str) -> Column:
    from rich.table import Column

    return Column(name, justify="right")
