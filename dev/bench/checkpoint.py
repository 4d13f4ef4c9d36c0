# SPDX-License-Identifier: Apache-2.0
"""What does each step of a checkpoint cost: polling, sending, aligning, overtaking, writing what is in flight?

One native thread; events of 40 bytes, records of 1 KiB. No message is read and no file is written. Then, in Python,
what a store reads for an operator that starts again: its state, and what was in flight, each file with its check sum.
These have the names of the texts that asked for them, and measure parts. Beside them stand measures of the product:
frames that are captured with their payload and stored, and a join that goes back to a checkpoint.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.shmpool.clock import monotonic_ns

from dev.bench import captured, restored
from dev.bench.cargo import cargo_bench
from dev.bench.result import Result, in_turn


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
    "poll_with_an_interval": _Asked("poll as a producer does, an interval set, nothing due", "ns", 3, _same),
    "bench_barrier_processing": _Asked("a barrier from channel to channel", "ns", 25, _same),
    "bench_barrier_injection_throughput": _Asked("barriers through an injector", "M/s", 60, _millions_a_second, True),
    "bench_stream_message_push_pop": _Asked("push and pop of a message", "ns", 30, _same),
    "bench_single_input_alignment": _Asked("alignment of one input", "ns", 5, _same),
    "bench_two_input_alignment": _Asked("alignment of two inputs", "ns", 60, _same),
    "alignment_state_bytes": _Asked(
        "state of an alignment of two inputs with everything it points to, without room for events", "bytes", 200, _same
    ),
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
    """The table, how often any of it allocated, what starting again reads, and a join that goes back."""
    allocations = 0
    for found in cargo_bench("framegate-checkpoint", "checkpoint"):
        allocations += found["allocations"]
        yield _result(ASKED[found["name"]], found)
    yield Result(
        question="Rust: allocations on these paths", measured=allocations, unit="", target=0, how="a round of each"
    )
    yield from _recovery()
    yield from captured.run()
    yield from restored.run()


_OPERATOR: Final = "join-20001"
_STATE_BYTES: Final = 64 << 20
_RECORDS: Final = 10_000
_RECORD_BYTES: Final = 1024
_ROUNDS: Final = 15


def _recovery() -> Iterator[Result]:
    """The same state from a checkpoint that waited and from one that overtook, in turn."""
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-checkpoint-", dir="/dev/shm"))
    try:
        store = CheckpointStore(home)
        for checkpoint_id, is_unaligned in ((1, False), (2, True)):
            _commit(store, checkpoint_id, is_unaligned=is_unaligned)
        aligned, unaligned = in_turn([lambda: _restore_ms(store, 1), lambda: _restore_ms(store, 2)], _ROUNDS)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    more = sorted(after - before for before, after in zip(aligned, unaligned, strict=True))
    shares = sorted(100 * (after / before - 1) for before, after in zip(aligned, unaligned, strict=True))
    how = f"{_ROUNDS} pairs from shared memory, with check sums; {_RECORDS} records of 1 KiB, state of 64 MiB"
    yield _from("Python: 10,000 events in flight, read from the store", more, "ms", 10, how)
    yield _from("Python: that, over the same checkpoint without them", shares, "%", 20, how)


def _from(question: str, ordered: list[float], unit: str, target: float, how: str) -> Result:
    spread = (ordered[0], ordered[-1])
    return Result(
        question=question, measured=ordered[len(ordered) // 2], unit=unit, target=target, spread=spread, how=how
    )


def _commit(store: CheckpointStore, checkpoint_id: int, *, is_unaligned: bool) -> None:
    state = store.write_state(checkpoint_id, _OPERATOR, bytes(range(256)) * (_STATE_BYTES // 256))
    records = [bytes([number % 256]) * _RECORD_BYTES for number in range(_RECORDS)]
    inflight = (store.write_inflight(checkpoint_id, _OPERATOR, 1, records),) if is_unaligned else ()
    manifest = Manifest(
        checkpoint_id=checkpoint_id,
        checkpoint_uuid=str(CheckpointId.new()),
        epoch=1,
        pipeline="default",
        is_unaligned=is_unaligned,
        was_threshold_triggered=False,
        created_ns=0,
        operators=(state,),
        inflight_data=inflight,
    )
    store.commit(manifest)


def _restore_ms(store: CheckpointStore, checkpoint_id: int) -> float:
    began_ns = monotonic_ns()
    restored = store.restore(store.manifest(checkpoint_id), _OPERATOR)
    spent_ns = monotonic_ns() - began_ns
    assert len(restored.state) == _STATE_BYTES  # noqa: S101  (what was measured was done)
    assert sum(map(len, restored.inflight.values())) == (checkpoint_id - 1) * _RECORDS  # noqa: S101
    return spent_ns / 1e6


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
