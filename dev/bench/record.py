# SPDX-License-Identifier: Apache-2.0
"""What can be recorded without loss: two fast cameras with their payloads, and a million descriptors without. And what
that does to the streams.

Producers and recorder are processes of their own, the file lies in shared memory. The million is sent at a
rate that takes two and a quarter seconds by itself: what the recorder needs beyond that is what it adds.
"""

from __future__ import annotations

import statistics
from typing import Final

from dev.bench.pool_bed import sized
from dev.bench.record_bed import record_bed
from dev.bench.record_beside import beside
from dev.bench.result import Result
from dev.bench.spark_load import Others

_FRAME_BYTES: Final = 640 * 1024
_RATE_HZ: Final = 500.0
_SECONDS: Final = 4.0
_SLOTS: Final = 128
_DESCRIPTORS: Final = 1_000_000
_DESCRIPTOR_RATE_HZ: Final = 450_000.0
_SMALL_BYTES: Final = 64
_SMALL_SLOTS: Final = 1024
_RUNS: Final = 5
_TURNS: Final = 3


def run(*, quick: bool = False) -> list[Result]:
    """The targets of a recording."""
    runs, seconds, descriptors = (1, 0.5, 50_000) if quick else (_RUNS, _SECONDS, _DESCRIPTORS)
    turns = 1 if quick else _TURNS
    return [_cameras(runs, seconds), _million(runs, descriptors), *beside(turns, int(_RATE_HZ * seconds), _RATE_HZ)]


def _cameras(runs: int, seconds: float) -> Result:
    count = int(_RATE_HZ * seconds)
    lost: list[float] = []
    remarks: list[str] = []
    others = Others()
    with record_bed(2, _FRAME_BYTES, _SLOTS) as bed:
        for _ in range(runs):
            summary, _, sent = bed.recorded(_RATE_HZ, count, "--payload")
            offered = sum(each["sent"] for each in sent)
            lost.append(offered - summary["payloads"])
            remarks.append(f"{summary['lost_frames']}+{summary['lost_payloads']}")
    return Result(
        question=f"payloads of 2 streams of {sized(_FRAME_BYTES)} at {_RATE_HZ:g}/s that are not recorded, to tmpfs",
        # Of the worst run: without loss is without loss.
        measured=max(lost),
        unit="frames",
        target=0,
        spread=(min(lost), max(lost)),
        how=f"{runs} runs of {2 * count} frames; lost frames+payloads of each: {', '.join(remarks)}; {others.remark()}",
    )


def _million(runs: int, count: int) -> Result:
    took: list[float] = []
    lost = unsent = 0
    with record_bed(1, _SMALL_BYTES, _SMALL_SLOTS) as bed:
        for _ in range(runs):
            summary, seconds, sent = bed.recorded(_DESCRIPTOR_RATE_HZ, count)
            took.append(seconds)
            # A recorder that joins may hear the last descriptor of before, too: that is none of these.
            lost += max(0, sum(each["sent"] for each in sent) - summary["frames"])
            unsent += sum(each["not_sent"] for each in sent)
    return Result(
        question=f"record {count} descriptors, from the first frame to the whole file",
        measured=statistics.median(took),
        unit="s",
        target=3.0,
        spread=(min(took), max(took)),
        how=f"{runs} runs, offered at {_DESCRIPTOR_RATE_HZ:g}/s; {lost} lost, {unsent} not sent",
    )
