# SPDX-License-Identifier: Apache-2.0
"""How far a command has got: a bar on a terminal's standard error, with the rate and the time that is left.

A pipe, a file and ``--json`` see nothing of it. Whoever works counts as it does anyway; a thread of the bar's own looks
at the count a few times a second, so that nothing of it costs in the loop, and work in native code is shown too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from framegate.schema.console.quantities import byte_size, count
from framegate.schema.errors import FramegateError

if TYPE_CHECKING:
    from rich.progress import Progress, Task

BYTES: Final = "B"
"""The unit of an amount that is told as a size; any other unit is a word behind a number."""
_AFTER_S: Final = 0.7
"""Nothing is drawn of what is done by then."""
_EVERY_S: Final = 0.2
_BAR_COLUMNS: Final = 20


@contextmanager
def progress(
    doing: str,
    done: Callable[[], int],
    total: int | Callable[[], int | None] | None,
    *,
    unit: str = BYTES,
    as_json: bool = False,
) -> Iterator[None]:
    """Show how much is ``done`` of a ``total`` while the block runs; a total None is not known.

    Both functions are asked on another thread: they must only look.
    """
    if as_json or not sys.stderr.isatty():
        yield
        return
    is_over = threading.Event()
    look = total if callable(total) else lambda: total
    drawing = threading.Thread(
        target=_draw, args=(is_over, doing, done, look, unit), name="framegate-progress", daemon=True
    )
    drawing.start()
    try:
        yield
    finally:
        is_over.set()
        drawing.join()


def _draw(
    is_over: threading.Event, doing: str, done: Callable[[], int], total: Callable[[], int | None], unit: str
) -> None:
    if is_over.wait(_AFTER_S):
        return
    # Where nothing can be looked at any more, whoever works there has something to say, and not the bar.
    with suppress(FramegateError, OSError, ValueError), _bar(unit) as bar:
        # Whatever ends this process at once must not leave a terminal without its cursor.
        bar.console.show_cursor(True)
        task = bar.add_task(doing, completed=done(), total=total())
        while not is_over.wait(_EVERY_S):
            bar.update(task, completed=done(), total=total(), refresh=True)


def _bar(unit: str) -> Progress:
    # Imported here: rich costs a tenth of a second that short commands, pipes and --json need not pay.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    # rich knows a rate from its second drawing on; from the beginning of the work on there is one for the first, too.
    class Amount(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(amount(int(task.completed), None if task.total is None else int(task.total), unit))

    class Pace(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(pace(int(task.completed), task.total, _AFTER_S + (task.elapsed or 0.0), unit))

    return Progress(
        # A file may be called by what rich takes for its markup.
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        BarColumn(_BAR_COLUMNS),
        Amount(Column(no_wrap=True)),
        Pace(Column(no_wrap=True)),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
    )


def amount(done: int, total: int | None, unit: str) -> str:
    """So much of so much.

    >>> amount(1536, 1 << 20, BYTES), amount(1500, 150_000, "rows"), amount(7, None, "frames")
    ('1.5 KiB of 1 MiB', '1,500 of 150,000 rows', '7 frames')
    """
    if total is None and not done:
        return ""
    of = "" if total is None else f" of {_told(total, unit)}"
    return f"{_told(done, unit)}{of}" + ("" if unit == BYTES else f" {unit}")


def pace(done: int, total: float | None, elapsed_s: float, unit: str) -> str:
    """How much a second, and how long the rest takes at that rate; without a total, how long it has taken.

    >>> pace(1500, 150_000, 1.0, "rows"), pace(7, None, 2.5, "frames"), pace(0, 9, 1.0, "rows")
    ('1,500/s 1:39 left', '2/s 2 s so far', '')
    """
    if total is not None and not done:
        return ""
    rate = done / elapsed_s
    told = f"{_told(int(rate), unit)}/s" if done else ""
    if total is None:
        return f"{told} {int(elapsed_s)} s so far".lstrip()
    minutes, seconds = divmod(int(max(total - done, 0) / rate), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{told} {f'{hours}:{minutes:02}' if hours else minutes}:{seconds:02} left"


def _told(number: int, unit: str) -> str:
    return byte_size(number) if unit == BYTES else count(number)
