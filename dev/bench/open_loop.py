# SPDX-License-Identifier: Apache-2.0
"""What does a person get who starts a join and, a moment apart, two producers at a rate, all with their defaults?

Only the installed programs: ``framegate driver``, ``join``, and two ``produce --rate``, which wait for nobody. What was
joined is what the auditor finds in the journal. A rate holds when the producers kept it and, in most of the runs, at
least 999 of 1,000 frames were joined: of all, or of those that were published when both producers had run for 3 s.

Then both producers publish at twice the best rate, which is more than the agent can join, and its journal is a new one.
Two questions are asked of the rows: does a join in new files soon have half of the pace that it settles at, and how
much of its best lossless rate is left?
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.head import Head
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.tools.audit.fates import read_fates
from framegate.tools.audit.ranges import Ranges

from dev.bench.join import held_back, pairs_joined_a_second
from dev.bench.join_bed import FAULTED, Case
from dev.bench.join_rate import ENOUGH, best_rate
from dev.bench.pool_bed import sized
from dev.bench.result import Result

KIB: Final = 1 << 10
WARM_S: Final = 3.0
BEGUN_S: Final = 2.0
HALF: Final = 0.5
_TOO_MUCH: Final = 2.0
_WINDOW_S: Final = 0.5
_SETTLED_S: Final = (4.0, 8.0)
_LOOK_NS: Final = 2_000_000
_MEASURED_S: Final = 3.0
_ON_PACE: Final = 1.02
_PRECISION: Final = 0.15
_STREAMS: Final = {"left": 10_001, "right": 10_002}
_FRAMEGATE: Final = (sys.executable, "-m", "framegate")


@dataclass(frozen=True, slots=True)
class Ask:
    """A rate that is asked for; ``after_s`` 0: from the first frame on.

    The second producer starts ``apart_s`` after the first, and all that the first has sent meanwhile waits from then
    on: at 20,000 frames of 64 KiB a second, 0.3 s are 393 MB, which the default ``pending_bytes`` cannot hold.
    """

    frame_bytes: int
    slots: int
    hz: float
    after_s: float
    apart_s: float = 0.3


ASKED: Final = (
    Ask(4 * KIB, 4096, 20_000, 0),
    Ask(64 * KIB, 256, 3_000, 0),
    Ask(640 * KIB, 128, 500, 0),
    Ask(4 * KIB, 4096, 100_000, WARM_S),
    Ask(64 * KIB, 256, 20_000, WARM_S, apart_s=0.1),
    Ask(640 * KIB, 128, 3_000, WARM_S, apart_s=0.05),
)
"""``slots`` are those that the defaults give to such frames."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Rows a second of a join whose producers are too fast for it."""

    begun_hz: float
    settled_hz: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one run."""

    share: float
    """Of the frames that count, what was joined."""
    lost_before: int
    """Frames of the left producer that came before those, and were not joined."""
    pace: float
    """How long the slower producer took, over what it should have."""
    rows: int

    @property
    def holds(self) -> bool:
        return self.share >= ENOUGH and self.pace <= _ON_PACE


def run(*, quick: bool = False) -> Iterator[Result]:
    """Twenty minutes; ``quick``: one run at a low rate, to see that it works."""
    if quick:
        ask = Ask(4 * KIB, 4096, 500, 0)
        yield _asked(ask, runs=1)
        yield from _pushed(ask, ask.hz, runs=1)
        return
    for ask in ASKED:
        yield _asked(ask, runs=3)
    for ask in ASKED:
        if ask.after_s:
            best = _best(ask)
            yield best
            yield from _pushed(ask, best.measured or 0.0, runs=3)


def _asked(ask: Ask, runs: int) -> Result:
    with _driving() as bed:
        trials = [_trial(bed, ask, ask.hz) for _ in range(runs)]
    shares = [each.share for each in trials]
    paces = f"producers took {statistics.median(each.pace for each in trials):.2f} of the time they should"
    lost = f"; {max(each.lost_before for each in trials)} lost before" if ask.after_s else ""
    return Result(
        question=f"joined of {sized(ask.frame_bytes)} at {ask.hz:,.0f}/s, {ask.apart_s:g} s apart, {_when(ask)}",
        measured=statistics.median(shares),
        unit="of all",
        target=ENOUGH,
        is_floor=True,
        spread=(min(shares), max(shares)),
        how=f"{trials[-1].rows} rows in the last run; {paces}{lost}; median of {runs}",
    )


def _best(ask: Ask) -> Result:
    with _driving() as bed:
        held, failed = best_rate(lambda hz: _most_hold(bed, ask, hz), ask.hz, _PRECISION)
    case = Case(ask.frame_bytes, ask.slots)
    closed = statistics.median(
        map(pairs_joined_a_second, held_back(case, 2 * case.slots, [int(ask.hz)] * 3, **FAULTED))
    )
    return Result(
        question=f"best rate of {sized(ask.frame_bytes)}, {_when(ask)}",
        measured=held,
        unit="pairs/s",
        target=ask.hz,
        is_floor=True,
        spread=(held, failed or held),
        how=f"{held / closed:.2f} of the {closed:,.0f} pairs/s with producers that are held back, {ask.slots} slots",
    )


def _pushed(ask: Ask, best_hz: float, runs: int) -> Iterator[Result]:
    with _driving() as bed:
        paces = [_pace(bed, ask, _TOO_MUCH * (best_hz or ask.hz)) for _ in range(runs)]
    settled = statistics.median(each.settled_hz for each in paces)
    begun = sorted(each.begun_hz / each.settled_hz if each.settled_hz else 0.0 for each in paces)
    size = sized(ask.frame_bytes)
    yield Result(
        question=f"pace of {size} in new files {BEGUN_S:g} s after the first row, over the settled one",
        measured=statistics.median(begun),
        unit="x",
        target=HALF,
        is_floor=True,
        spread=(begun[0], begun[-1]),
        how=f"settled at {settled:,.0f} pairs/s; at {_TOO_MUCH:g} times the best rate; median of {len(paces)}",
    )
    left = sorted(each.settled_hz / best_hz for each in paces) if best_hz else []
    yield Result(
        question=f"pace of {size} under too much load, over the best lossless one",
        measured=statistics.median(left) if left else None,
        unit="x",
        target=HALF,
        is_floor=True,
        spread=(left[0], left[-1]) if left else None,
        how=f"{settled:,.0f} of {best_hz:,.0f} pairs/s" if left else "no rate was lossless",
    )


def _most_hold(bed: _Bed, ask: Ask, hz: float) -> bool:
    verdicts = [_trial(bed, ask, hz).holds for _ in range(2)]
    return all(verdicts) or (any(verdicts) and _trial(bed, ask, hz).holds)


def _when(ask: Ask) -> str:
    return f"after {ask.after_s:g} s" if ask.after_s else "from the first frame"


# --- One run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Bed:
    home: Path
    runs: int = 0

    def start(self, *words: object) -> subprocess.Popen[bytes]:
        """A program of framegate, with the defaults but for the place of everything."""
        places = {"FRAMEGATE_AERON_DIR": f"{self.home}/aeron", "FRAMEGATE_BASE_DIR": f"{self.home}/pool"}
        command = [*_FRAMEGATE, *map(str, words), "--json"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **places}, cwd=self.home)


@contextmanager
def _driving() -> Iterator[_Bed]:
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-open-", dir="/dev/shm"))
    bed = _Bed(home)
    driver = bed.start("driver")
    try:
        _says(driver, "ready")
        yield bed
    finally:
        driver.send_signal(signal.SIGINT)
        driver.wait()
        shutil.rmtree(home, ignore_errors=True)


def _joining(bed: _Bed) -> tuple[subprocess.Popen[bytes], Path]:
    """A join that is ready, and its new journal."""
    bed.runs += 1
    journal = bed.home / f"run-{bed.runs}"
    config = bed.home / f"{journal.name}.toml"
    inputs = "".join(f'[[input]]\nname = "{name}"\nstream = {stream}\n' for name, stream in _STREAMS.items())
    head = f'[join]\nout_stream = {20_000 + bed.runs}\npolicy = "sequence"\njournal = "{journal}"\n'
    config.write_text(head + inputs)
    join = bed.start("join", "--config", config)
    _says(join, "ready")
    return join, journal


def _pace(bed: _Bed, ask: Ask, hz: float) -> Pace:
    """The rows of some seconds, as the journal's head counts them."""
    join, folder = _joining(bed)
    how = ("--rate", hz, "--shape", ask.frame_bytes, "--wait-consumers", 1)
    producers = [bed.start("produce", "--stream", stream, *how) for stream in _STREAMS.values()]
    head = Head.open(folder)
    assert head is not None  # noqa: S101  (the join said that it was ready)
    while head.next_row == 0:
        sleep_ns(_LOOK_NS)
    began_ns = monotonic_ns()
    looks = [(0.0, head.next_row)]
    while looks[-1][0] < _SETTLED_S[1]:
        sleep_ns(_LOOK_NS)
        looks.append(((monotonic_ns() - began_ns) / 1e9, head.next_row))
    for each in (*producers, join):
        each.send_signal(signal.SIGINT)
        each.wait()
    shutil.rmtree(folder)
    return Pace(_rows_a_second(looks, BEGUN_S, BEGUN_S + _WINDOW_S), _rows_a_second(looks, *_SETTLED_S))


def _rows_a_second(looks: Sequence[tuple[float, int]], begin_s: float, end_s: float) -> float:
    """Between the first look at or after each of the two times."""
    first, last = (next(look for look in looks if look[0] >= at) for at in (begin_s, end_s))
    return (last[1] - first[1]) / (last[0] - first[0])


def _trial(bed: _Bed, ask: Ask, hz: float) -> Trial:
    join, journal = _joining(bed)
    seconds = _MEASURED_S + ask.after_s + ask.apart_s
    count = int(hz * seconds)
    how = ("--rate", hz, "--count", count, "--shape", ask.frame_bytes, "--wait-consumers", 1, "--end")
    producers = []
    for stream in _STREAMS.values():
        producers.append(bed.start("produce", "--stream", stream, *how))
        sleep_ns(int(ask.apart_s * 1e9))
    made = [_says(each, "summary") for each in producers]
    rows = _says(join, "summary")["rows"]
    for each in (*producers, join):
        each.wait()
    # Sequences are counted from each producer's own start, and the right one started later.
    first = int(hz * (ask.after_s + ask.apart_s)) if ask.after_s else 0
    # What retention removed of the rows may have no ranges any more; what was not joined has.
    epochs = read_fates(journal).epochs["left"].values()
    lost = Ranges(pair for epoch in epochs for each in epoch.unmatched.values() for pair in each.pairs)
    lost_since = len(lost & Ranges([(first, count - 1)]))
    assert rows + len(lost) == count, (rows, len(lost), count)  # noqa: S101  (or the shares say nothing)
    shutil.rmtree(journal)
    pace = max(each["seconds"] for each in made) / (count / hz)
    return Trial(1 - lost_since / (count - first), len(lost) - lost_since, pace, rows)


def _says(process: subprocess.Popen[bytes], event: str) -> dict[str, Any]:
    """The program's next line of this kind."""
    assert process.stdout is not None  # noqa: S101  (for the type checker)
    for line in process.stdout:
        found: dict[str, Any] = json.loads(line)
        if found.get("event") == event:
            return found
    raise RuntimeError(f"{process.args!r} ended without saying {event}: exit code {process.wait()}")
