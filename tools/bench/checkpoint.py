# SPDX-License-Identifier: Apache-2.0
"""What does each step of a checkpoint cost: polling, sending, aligning, overtaking, writing what is in flight?

One native thread; events of 40 bytes, records of 1 KiB. No message is read and no file is written, but for the restore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from framegate.tools.bench import restored
from framegate.tools.bench.cargo import cargo_bench
from framegate.tools.bench.result import Result


class _Asked(NamedTuple):
    question: str
    unit: str
    target: float | None
    change: Callable[[float], float]
    """From the nanoseconds that are printed."""
    is_floor: bool = False


def _same(ns: float) -> float:
    return ns


def _millions_a_second(ns: float) -> float:
    return 1e3 / ns


def _gigabytes_a_second(ns_a_byte: float) -> float:
    return 1 / ns_a_byte


def _milliseconds(ns: float) -> float:
    return ns / 1e6


ASKED: Final = {
    "bench_poll_barrier_no_pending": _Asked("poll, nothing pending", "ns", 3, _same),
    "bench_poll_barrier_with_pending": _Asked("poll, pending: inject and take", "ns", 15, _same),
    "bench_barrier_processing": _Asked("a barrier from channel to channel", "ns", 25, _same),
    "bench_barrier_injection_throughput": _Asked("barriers through an injector", "M/s", 60, _millions_a_second, True),
    "bench_stream_message_push_pop": _Asked("push and pop of a message", "ns", 30, _same),
    "bench_single_input_alignment": _Asked("alignment of one input", "ns", 5, _same),
    "bench_two_input_alignment": _Asked("alignment of two inputs", "ns", 60, _same),
    "bench_event_buffering": _Asked("buffering an event", "ns", 25, _same),
    "bench_buffer_drain_10k": _Asked("draining 10,000 events", "M/s", 60, _millions_a_second, True),
    "bench_alignment_with_100k_buffered": _Asked("draining 100,000 events", "ms", None, _milliseconds),
    "bench_unaligned_trigger": _Asked("an unaligned trigger", "ns", 60, _same),
    "bench_inflight_capture_10k": _Asked("capture of 10,000 events", "ms", 0.3, _milliseconds),
    "bench_inflight_serialize_1mb": _Asked("in-flight serialisation", "GB/s", 1.5, _gigabytes_a_second, True),
    "bench_mode_switch": _Asked("switch to unaligned, 10,000 events wait", "ms", 0.1, _milliseconds),
    "bench_unaligned_recovery_10k_inflight": _Asked("recovery of 10,000 events", "ms", 10, _milliseconds),
}


def run() -> Iterator[Result]:
    """The table, then how often any of it allocated, and a join that goes back to a checkpoint."""
    allocations = 0
    for found in cargo_bench("framegate-checkpoint", "checkpoint"):
        allocations += found["allocations"]
        yield _result(ASKED[found["name"]], found)
    yield Result(
        question="Rust: allocations on these paths", measured=allocations, unit="", target=0, how="a round of each"
    )
    yield from restored.run()


def _result(asked: _Asked, found: dict[str, Any]) -> Result:
    rounds = sorted(asked.change(found[name]) for name in ("best", "worst"))
    return Result(
        question=f"Rust: {asked.question}",
        measured=asked.change(found["median_ns"]),
        unit=asked.unit,
        target=asked.target,
        is_floor=asked.is_floor,
        spread=(rounds[0], rounds[1]),
        how=found["how"],
    )
