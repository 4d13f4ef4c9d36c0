# SPDX-License-Identifier: Apache-2.0
"""Bytes into everything of a checkpoint that reads what somebody else wrote, and into its state machines as schedules.

The first byte says what is meant; the rest are its file or its calls. Only values and numbered errors may come out,
from both implementations the same: a panic of the native one, a traceback, or two answers are findings.
``checkpoints.py`` lets libFuzzer choose the bytes; ``tests/property/test_checkpoint_any_input.py`` chooses some itself.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from framegate.joinbarrier.checkpoint import (
    BarrierAligner,
    BarrierSignal,
    Channel,
    CheckpointBarrier,
    CheckpointBarrierInjector,
    Event,
    InstantSignal,
    SignalAligner,
    UnalignedCheckpointer,
    Watermark,
)
from framegate.joinbarrier.checkpoint import inflight as native_inflight
from framegate.joinbarrier.checkpoint.coordinator.actions import IssuedIds
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import read_issued_ids, write_issued_ids
from framegate.joinbarrier.checkpoint.manifest import decode
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart, decode_part
from framegate.joinbarrier.checkpoint.operator.state import decode_state, encode_head
from framegate.joinbarrier.checkpoint.settings import Implementation
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content
from framegate.schema.errors import CheckpointError, InvalidValue
from framegate.spec.checkpoint import inflight as reference_inflight

BOTH: Final[tuple[Implementation, Implementation]] = ("reference", "native")
INPUTS: Final = 3
NUMBERS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 60, 2**32, 2**48 - 1, 2**48, 2**63 - 1, 2**63, 2**64 - 1, 2**64)
Call: TypeAlias = Callable[[Any], Any]


class Memory:
    """A store's files, in memory."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = {} if files is None else files

    def write(self, path: str, content: bytes | Content) -> None:
        self.files[path] = bytes(content)

    def publish(self, path: str, content: bytes) -> None:
        self.files[path] = content

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "No such file", path)
        return self.files[path]

    def is_there(self) -> bool:
        return True

    def names(self, path: str) -> list[str]:
        below = f"{path}/" if path else ""
        return sorted({each[len(below) :].partition("/")[0] for each in self.files if each.startswith(below)})

    def remove(self, path: str) -> None:
        del self.files[path]

    def remove_folder(self, path: str) -> None:
        for each in [each for each in self.files if each.startswith(f"{path}/")]:
            del self.files[each]


# --- Files ----------------------------------------------------------------------------------------------


def outcome(call: Callable[[], Any]) -> Any:
    """A value, or the number and the words of an error. Anything else goes through."""
    try:
        return call()
    except (CheckpointError, InvalidValue) as error:
        return error.code, error.message


def read_manifest(data: bytes) -> None:
    """A manifest, and what a store makes of it when its files are other ones."""
    outcome(lambda: decode(data, where="fuzz"))
    store = CheckpointStore("memory", Memory({"7/manifest.json": data, "7/operators/join/state.bin": b"state"}))
    list(store.problems(7))
    outcome(store.latest_whole)
    outcome(lambda: store.restore(store.manifest(7), "join", skip_damaged_inflight=True))


def read_part(data: bytes) -> None:
    """An operator's word about its files."""
    outcome(lambda: decode_part(data, operator_id="join", where="fuzz"))
    files = {"7/operators/join/operator.json": data, "7/operators/join/state.bin": b"state"}
    outcome(lambda: CheckpointStore("memory", Memory(files)).part(7, "join"))


def read_state(data: bytes) -> None:
    """A join's state."""
    outcome(lambda: decode_state(data))


def read_inflight(data: bytes) -> None:
    """In-flight events, by both implementations; what is read is written as it was."""
    one, other = (
        outcome(partial(read, data)) for read in (reference_inflight.read_records, native_inflight.read_records)
    )
    assert one == other, (one, other)
    if isinstance(one[1], list):
        assert native_inflight.write_records(*one) == data
    store = CheckpointStore(
        "memory", Memory({"7/operators/join/state.bin": b"", "7/operators/join/inflight_1.buf": data})
    )
    outcome(lambda: store.part(7, "join"))


def read_counter(data: bytes) -> None:
    """What a coordinator's earlier life gave out."""
    outcome(lambda: read_issued_ids(Memory({"coordinator.json": data}), "default", "memory"))


# --- Schedules ------------------------------------------------------------------------------------------


class Calls:
    """Bytes as calls: what is to be done, for whom, and a number for it; short of bytes there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def number(self) -> int:
        """Small or at the end of its kind; what is too large is to be refused."""
        return NUMBERS[self.byte() % len(NUMBERS)]

    def perhaps(self) -> int | None:
        chosen = self.byte()
        return None if chosen < 128 else NUMBERS[chosen % len(NUMBERS)]

    def message(self) -> Any:
        kind = self.byte() % 4
        if kind == 0:
            return Watermark(self.number())
        if kind == 1:
            return CheckpointBarrier(self.number(), self.number(), unaligned=self.byte() % 2 == 1)
        return Event(self._at, self.number())

    def limits(self) -> dict[str, Any]:
        return {
            "max_buffer_per_input": self.byte() % 5,
            "max_buffer_memory_bytes": self.number(),
            "alignment_timeout_s": self.byte() / 1e9,
            "floor": self.number(),
        }


def _alike(both: list[Any], call: Call) -> Any:
    found = [outcome(partial(call, each)) for each in both]
    assert found[0] == found[1], found
    return found[0]


def align(calls: Calls) -> None:
    """Two aligners."""
    limits = calls.limits()
    both = [BarrierAligner(INPUTS, impl=impl, **limits) for impl in BOTH]
    while calls:
        what, now_ns, input_id = calls.byte() % 12, calls.number(), calls.byte() % (INPUTS + 1)
        _alike(both, _aligner_call(what, input_id, now_ns, calls))
        assert both[0].metrics() == both[1].metrics()
        assert both[0].buffered_bytes == both[1].buffered_bytes


def _aligner_call(what: int, input_id: int, now_ns: int, calls: Calls) -> Call:
    if what == 0:
        return lambda each: each.check_timeout(now_ns)
    if what == 1:
        asked = calls.perhaps()
        return lambda each: each.abort(asked)
    if what == 2:
        return lambda each: each.end_input(input_id, now_ns)
    if what == 3:
        return lambda each: each.lose_input(input_id)
    if what == 4:
        return lambda each: each.resume_input(input_id)
    if what in (5, 6):
        return lambda each: each.complete_alignment()
    message = calls.message()
    return lambda each: each.process(input_id, message, now_ns)


def overtake(calls: Calls) -> None:
    """Two checkpointers."""
    limits, late = calls.limits(), calls.perhaps()
    options: dict[str, Any] = {
        "enabled": calls.byte() % 3 > 0,
        "force_unaligned": calls.byte() % 3 == 0,
        "max_inflight_bytes": calls.number(),
        "late_barrier_timeout_s": None if late is None else (late % 256) / 1e9,
    }
    both = [UnalignedCheckpointer(INPUTS, impl=impl, **limits, **options) for impl in BOTH]
    while calls:
        what, now_ns, input_id = calls.byte() % 12, calls.number(), calls.byte() % (INPUTS + 1)
        _alike(both, _checkpointer_call(what, input_id, now_ns, calls))
        assert both[0].metrics() == both[1].metrics()
        assert both[0].snapshot() == both[1].snapshot()


def _checkpointer_call(what: int, input_id: int, now_ns: int, calls: Calls) -> Call:
    if what in (0, 5):
        return lambda each: each.on_tick(now_ns)
    if what == 6:
        asked = calls.perhaps()
        return lambda each: each.fail(asked)
    return _aligner_call(what, input_id, now_ns, calls)


def inject(calls: Calls) -> None:
    """Two injectors; ids only grow."""
    interval = calls.perhaps()
    both = [
        CheckpointBarrierInjector("camera", None if interval is None else (interval % 256) / 1e9, impl=impl)
        for impl in BOTH
    ]
    last = 0
    while calls:
        if calls.byte() % 2:
            asked, epoch, unaligned = calls.number(), calls.number(), calls.byte() % 2 == 1
            _alike([each.handle() for each in both], lambda each: each.inject(asked, epoch, unaligned))  # noqa: B023
        else:
            now_ns = calls.number()
            found = _alike(both, lambda each: each.poll(now_ns))  # noqa: B023
            if isinstance(found, CheckpointBarrier):
                assert found.checkpoint_id > last
                last = found.checkpoint_id
        assert both[0].metrics() == both[1].metrics()


def signal(calls: Calls) -> None:
    """Two signal aligners."""
    expected = 1 + calls.byte() % 4
    both = [SignalAligner(expected, impl) for impl in BOTH]
    while calls:
        kind = ("SyncTest", "StreamGracefulEnd")[calls.byte() % 2]
        what, number = calls.byte() % 4, calls.number()
        if what == 0:
            _alike(both, lambda each: each.align(InstantSignal(kind)))  # noqa: B023
        elif what == 1:
            _alike(both, lambda each: each.end_input(has_delivered=number % 2 == 1))  # noqa: B023
        else:
            _alike(both, lambda each: each.align(BarrierSignal(kind, number)))  # noqa: B023
        assert both[0].pending == both[1].pending


def carry(calls: Calls) -> None:
    """Two channels."""
    capacity = 1 + calls.byte() % 4
    both = [Channel(capacity, impl=impl) for impl in BOTH]
    while calls:
        what = calls.byte()
        if what == 255:
            _alike(both, lambda each: each.close())
        elif what % 2:
            _alike(both, lambda each: each.pop())
        else:
            message = outcome(calls.message)
            _alike(both, lambda each: each.push(message))  # noqa: B023
        assert len(both[0]) == len(both[1]) <= capacity + 1


READERS: Final[tuple[Callable[[bytes], None], ...]] = (
    read_manifest,
    read_part,
    read_state,
    read_inflight,
    read_counter,
)
MACHINES: Final[tuple[Callable[[Calls], None], ...]] = (align, overtake, inject, signal, carry)


def look(data: bytes) -> None:
    """What the first byte says, with the others."""
    if not data:
        return
    chosen = data[0] % (len(READERS) + len(MACHINES))
    if chosen < len(READERS):
        READERS[chosen](data[1:])
    else:
        # A number that is refused ends a schedule: what cannot be made is not given.
        outcome(lambda: MACHINES[chosen - len(READERS)](Calls(data[1:])))


def _seeds() -> list[bytes]:
    memory = Memory()
    store = CheckpointStore("memory", memory)
    state = store.write_state(7, "join", b"state")
    late = store.write_inflight(7, "join", 1, [b"frame", b""], [{"seq": 3, "cause": "overwritten"}])
    part = OperatorPart(state=state, inflight=(late,), is_unaligned=True)
    store.write_part(7, part)
    write_issued_ids(memory, "default", IssuedIds(7, 2), "memory")
    manifest = {
        **json.loads(memory.files["7/operators/join/operator.json"]),
        "checkpoint_id": 7,
        "checkpoint_uuid": "018bcfe5-6800-795a-94ec-6a040613c772",
        "epoch": 1,
        "pipeline": "default",
        "created_ns": 1,
        "size_bytes": part.size_bytes,
        "state_bytes": state.bytes,
    }
    decode(json.dumps(manifest).encode(), where="seeds")
    files = [
        json.dumps(manifest).encode(),
        memory.files["7/operators/join/operator.json"],
        encode_head({"frames": 1}) + struct.pack("<I", 5) + b"frame",
        memory.files["7/operators/join/inflight_1.buf"],
        memory.files["coordinator.json"],
    ]
    schedules = [bytes((each * 37 + at * 11) % 256 for at in range(80)) for each in range(len(MACHINES))]
    return [bytes([number]) + each for number, each in enumerate([*files, *schedules])]


SEEDS: Final = _seeds()
