# SPDX-License-Identifier: Apache-2.0
"""What does our server take of Flight's own rate? One stream on loopback, over a bare server of the same batches.

Both servers are processes of their own, and both clients read every batch and keep none. The bare one holds its batches
in memory and sends them as they are; ours finds and checks them in the journal, and its client checks what arrives.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.flight.access import Access
from framegate.joinbarrier.flight.client import JournalClient
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.schema import rows_schema
from pyarrow import flight

from dev.bench.pool_bed import sized
from dev.bench.result import Result
from dev.bench.spark_bed import INPUTS, KIB, home, journal_of
from dev.bench.spark_load import Others, abba, in_words, ratios

SIZES: Final = (4 * KIB, 64 * KIB, 640 * KIB)
TARGET: Final = 0.8
_PAIRS: Final = 15
_RUN_BYTES: Final = 1_000_000_000
_QUICK_BYTES: Final = 4_000_000


def run(*, quick: bool = False) -> Iterator[Result]:
    """One result a size; ``quick``: one of them, and few rows."""
    with home() as folder:
        for frame_bytes in SIZES[:1] if quick else SIZES:
            run_bytes, pairs = (_QUICK_BYTES, 1) if quick else (_RUN_BYTES, _PAIRS)
            yield _over_bare(folder, frame_bytes, run_bytes, pairs)


def _over_bare(folder: Path, frame_bytes: int, run_bytes: int, pairs: int) -> Result:
    rows = run_bytes // (len(INPUTS) * frame_bytes)
    journal = journal_of(folder / f"{frame_bytes}", frame_bytes, rows)
    with (
        _server("framegate", "journal", "serve", str(journal), "--json") as ours,
        _server("dev.bench.flight_bare", str(journal)) as bare,
    ):
        others = Others()
        ours_s, bare_s = abba(_framegate(ours, journal, rows), _bare(bare, rows), pairs, warm_up=2)
        remark = others.remark()
    found = ratios(bare_s, ours_s)
    return Result(
        question=f"rows of two {sized(frame_bytes)} by one Flight stream, over a bare server of the same batches",
        measured=statistics.median(found),
        unit="x",
        target=TARGET,
        is_floor=True,
        spread=(min(found), max(found)),
        how=f"{_rate(run_bytes, ours_s)} over {_rate(run_bytes, bare_s)} GB/s; {in_words(found)}; {remark}",
    )


def _rate(run_bytes: int, seconds: list[float]) -> str:
    return f"{run_bytes / statistics.median(seconds) / 1e9:.2f}"


@contextmanager
def _server(*words: str) -> Iterator[str]:
    """A server as a process; its address, as it says it."""
    process = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout is not None  # noqa: S101  (for the type checker)
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        yield str(ready["endpoint"])
    finally:
        process.terminate()
        process.communicate()


def _framegate(endpoint: str, journal: Path, rows: int) -> Callable[[], float]:
    wanted = Ticket(journal=str(journal), epoch=1, first_row=0, end_row=rows)

    def seconds() -> float:
        with JournalClient(Endpoint.parse(endpoint), Access()) as client:
            return _timed(lambda: sum(batch.num_rows for batch in client.batches(wanted, rows_schema(INPUTS))), rows)

    return seconds


def _bare(endpoint: str, rows: int) -> Callable[[], float]:
    def seconds() -> float:
        with flight.FlightClient(Endpoint.parse(endpoint).location) as client:
            return _timed(lambda: sum(chunk.data.num_rows for chunk in client.do_get(flight.Ticket(b""))), rows)

    return seconds


def _timed(read: Callable[[], int], rows: int) -> float:
    began_ns = time.perf_counter_ns()
    found = read()
    assert found == rows, (found, rows)  # noqa: S101 - a rate of other rows would be none
    return (time.perf_counter_ns() - began_ns) / 1e9
