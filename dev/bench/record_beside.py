# SPDX-License-Identifier: Apache-2.0
"""What a recorder costs the streams that it records: their producers' rate, and what a consumer of them misses.

The same frames without a recorder and with one, in the order ABBA, so that what the machine does meanwhile is done to
both. At a camera's rate nothing may change. At full rate the recorder takes its share of the cores and of the memory's
width, and the figure says how much that is.
"""

from __future__ import annotations

import signal
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dev.bench.join_bed import Process
from dev.bench.pool_bed import sized
from dev.bench.record_bed import STREAMS, RecordBed, record_bed
from dev.bench.result import Result

_FRAME_BYTES: Final = 640 * 1024
_SLOTS: Final = 128
_ABBA: Final = (False, True, True, False)
_LEAST_SHARE: Final = 0.99
_SMALL_BYTES: Final = 64 * 1024
_SMALL_SLOTS: Final = 1024
_SMALL_TIMES: Final = 15
"""So many times more of the small frames: at full rate they take part of a second, and all of them fit into memory."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of one run."""

    rate_hz: float
    """Of the slowest producer."""
    missed: int
    """Frames that the consumer was too late for, or never heard of."""


def beside(turns: int, count: int, rate_hz: float) -> list[Result]:
    """Figures of both rates; ``turns``: times ABBA."""
    with record_bed(len(STREAMS), _FRAME_BYTES, _SLOTS) as bed:
        paced = _in_turns(bed, turns, rate_hz, count)
    with record_bed(1, _SMALL_BYTES, _SMALL_SLOTS) as bed:
        full = _in_turns(bed, turns, 0, count * _SMALL_TIMES)
    what = f"streams of {sized(_FRAME_BYTES)}"
    missed = [each.missed for each in paced[True]]
    return [
        _share(
            f"producers' rate beside a recorder, of that without: 2 {what} at {rate_hz:g}/s", paced, target=_LEAST_SHARE
        ),
        Result(
            question=f"frames that a consumer misses beside a recorder: 2 {what} at {rate_hz:g}/s",
            measured=statistics.median(missed),
            unit="frames",
            target=statistics.median(each.missed for each in paced[False]),
            spread=(min(missed), max(missed)),
            how=f"{_numbers(missed)}; without {_numbers([each.missed for each in paced[False]])}",
        ),
        _share(
            f"producer's rate beside a recorder, of that without: one stream of {sized(_SMALL_BYTES)} at full rate",
            full,
            target=None,
        ),
    ]


def _in_turns(bed: RecordBed, turns: int, rate_hz: float, count: int) -> dict[bool, list[_Seen]]:
    """What was seen without a recorder and with one."""
    _run(bed, rate_hz, count // 4, is_recorded=True)
    found: dict[bool, list[_Seen]] = {False: [], True: []}
    for is_recorded in _ABBA * turns:
        found[is_recorded].append(_run(bed, rate_hz, count, is_recorded=is_recorded))
    return found


def _run(bed: RecordBed, rate_hz: float, count: int, *, is_recorded: bool) -> _Seen:
    consumer = Process("dev.bench.record_consumer", *bed.folders, str(STREAMS[0]))
    try:
        consumer.answer()
        sent = bed.recorded(rate_hz, count, "--payload")[2] if is_recorded else bed.sent(rate_hz, count)
        consumer.send(signal.SIGINT)
        missed = consumer.answer()["missed"]
    finally:
        consumer.close()
    rate = min(each["sent"] / each["elapsed_ns"] for each in sent) * 1e9
    return _Seen(rate, missed)


def _share(question: str, seen: dict[bool, list[_Seen]], *, target: float | None) -> Result:
    rates = {is_recorded: [each.rate_hz for each in runs] for is_recorded, runs in seen.items()}
    shares = [beside / without for without, beside in zip(rates[False], rates[True], strict=True)]
    lost = {is_recorded: [each.missed for each in runs] for is_recorded, runs in seen.items()}
    return Result(
        question=question,
        measured=statistics.median(rates[True]) / statistics.median(rates[False]),
        unit="x",
        target=target,
        is_floor=True,
        spread=(min(shares), max(shares)),
        how=f"{len(shares)} runs each, ABBA; frames/s {_numbers(rates[True])}, without {_numbers(rates[False])}; "
        f"a consumer missed {_numbers(lost[True])}, without {_numbers(lost[False])}",
    )


def _numbers(values: Sequence[float]) -> str:
    return "/".join(f"{value:.0f}" for value in values)
