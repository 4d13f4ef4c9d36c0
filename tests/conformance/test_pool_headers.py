# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""Headers and superblocks that are wrong: both readers name the same cause, whatever the bytes."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from typing import Any, Final

import pytest
from framegate.schema.errors import (
    RegionMismatch,
)
from framegate.schema.wire import Dtype, FrameDescriptor, MajorOrder, ProgressUnit
from framegate.shmpool.layout import commit, slot, superblock
from framegate.shmpool.layout.slot import NULL_META_VERSION, NULL_TIMESTAMP, FrameHeader
from framegate.spec.pool import DropCause, Tensor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framegate._native import PoolRegions
from tests.conformance.pool_checks import KINDS, descriptor, pipes, reader, taken, world
from tests.conformance.pool_world import (
    EPOCH,
    POOLS,
    RING,
    STREAM_ID,
    NativeReader,
    PoolReader,
    PoolWorld,
    Taken,
)

# --- Faults of a header: each field of PROTOCOL 3.3 set wrong ----------------------------------------------

SOUND: Final = FrameHeader(
    24, 1, NULL_TIMESTAMP, NULL_META_VERSION, Tensor(Dtype.FLOAT32, MajorOrder.ROW, (2, 3), (12, 4), 2)
)


def put(world: PoolWorld, header: FrameHeader, seq: int = 0, changes: dict[int, bytes] | None = None) -> memoryview:
    """Write a committed slot by hand: a header, and bytes at offsets of the slot that say something else."""
    view = world.slot(seq % RING.nslots)
    slot.write(view, seq % RING.nslots, header)
    commit.store(view, commit.committed(seq))
    for offset, data in (changes or {}).items():
        view[offset : offset + len(data)] = data
    return view


WRONG: Final[list[tuple[str, int, str, list[Any]]]] = [
    # The cause, the offset in the slot, the format there, and what must not stand there.
    ("values_bytes", 8, "I", [65, 2**31, 2**32 - 1]),
    ("payload_slot", 12, "I", [0, 2, RING.nslots, RING.nslots + 1, 2**32 - 1]),
    ("unknown_pool", 16, "H", [0, 4, 65535]),
    ("payload_offset", 18, "I", [1, 64, 2**32 - 1]),
    ("header_length", 60, "I", [0, 184, 191, 193, 2**32 - 1]),
    ("tensor_message", 64, "H", [0, 183, 185, 65535]),
    ("tensor_message", 66, "H", [0, 51, 53, 65535]),
    ("tensor_message", 68, "H", [0, 899, 901, 65535]),
    ("tensor_message", 70, "H", [0, 2, 65535]),
    ("dtype", 72, "h", [-1, 0, 12, 15, 32767, -32768]),
    ("major_order", 74, "h", [-1, 0, 3, -32768]),
    ("ndims", 76, "B", [0, 9, 255]),
    ("dims", 83, "2i", [(-1, 3), (2, -3), (-(2**31), 0)]),
    ("strides", 115, "2i", [(8, 4), (12, 3), (4, 8), (-12, 4), (12, -4), (11, 0), (0, -(2**31))]),
    ("progress", 78, "BI", [(1, 0), (1, 4), (1, 2**32 - 12), (2, 12), (2, 0), (3, 12), (255, 4)]),
    ("extent", 8, "I", [0, 23]),
    ("extent", 83, "2i", [(3, 3), (2**31 - 1, 3)]),
    ("extent", 115, "2i", [(2**31 - 1, 4)]),
]
FAULTS: Final = [
    (cause, offset, struct.pack("<" + kind, *(value if isinstance(value, tuple) else (value,))))
    for cause, offset, kind, values in WRONG
    for value in values
]


@pytest.mark.parametrize(
    ("cause", "offset", "data"), FAULTS, ids=[f"{cause}-{offset}-{data.hex()}" for cause, offset, data in FAULTS]
)
def test_a_wrong_field_drops_the_frame_with_its_cause(
    world: PoolWorld, reader: PoolReader, cause: str, offset: int, data: bytes
) -> None:
    put(world, SOUND)
    put(world, SOUND, 1, {offset: data})
    assert taken(reader.read(descriptor(0))).shape == (2, 3)
    assert reader.read(descriptor(1)) == cause


def test_there_is_a_fault_for_every_cause() -> None:
    beside = {"in_progress", "overwritten", "other_frame", "went_back"}
    assert {cause for cause, _, _ in FAULTS} | beside == set(DropCause)


def test_both_readers_have_the_same_causes_in_the_same_order(world: PoolWorld) -> None:
    reader = world.reader("native")
    assert isinstance(reader, NativeReader)
    assert [name.removeprefix("drop_") for name in reader.counters() if name.startswith("drop_")] == list(DropCause)


@pytest.mark.parametrize("filler", [0x01, 0x7F, 0xFF])
def test_padding_and_unused_dimensions_are_ignored_whatever_they_hold(
    world: PoolWorld, reader: PoolReader, filler: int
) -> None:
    ignored = {34: 26, 77: 1, 147: 109, 83 + 4 * 2: 24, 115 + 4 * 2: 24}
    put(world, SOUND, 0, {offset: bytes([filler]) * length for offset, length in ignored.items()})
    frame = taken(reader.read(descriptor(0)))
    assert (frame.shape, frame.dtype) == ((2, 3), "float32")


@pytest.mark.parametrize(
    ("tensor", "values_bytes", "offsets"),
    [
        (Tensor(Dtype.UINT8, MajorOrder.ROW, (2, 3), (16, 4), 2), 25, [0, 4, 8, 16, 20, 24]),
        (Tensor(Dtype.UINT8, MajorOrder.ROW, (2, 3), (0, 4), 2), 21, [0, 4, 8, 12, 16, 20]),
        (Tensor(Dtype.UINT8, MajorOrder.COLUMN, (2, 3), (0, 0), 2), 6, [0, 2, 4, 1, 3, 5]),
        (Tensor(Dtype.UINT8, MajorOrder.COLUMN, (2, 3), (1, 8), 2), 18, [0, 8, 16, 1, 9, 17]),
        (Tensor(Dtype.UINT8, MajorOrder.ROW, (2, 3), (16, 1), 2, ProgressUnit.ROWS, 16), 19, [0, 1, 2, 16, 17, 18]),
        (Tensor(Dtype.UINT8, MajorOrder.ROW, (2, 3), (0, 0), 2, ProgressUnit.ROWS, 3), 6, [0, 1, 2, 3, 4, 5]),
        (Tensor(Dtype.UINT8, MajorOrder.COLUMN, (2, 3), (0, 0), 2, ProgressUnit.COLUMNS, 2), 6, [0, 2, 4, 1, 3, 5]),
        (Tensor(Dtype.UINT8, MajorOrder.ROW, (2, 3), (0, 0), 2, ProgressUnit.NONE, 99), 6, [0, 1, 2, 3, 4, 5]),
        (Tensor(Dtype.BYTES, MajorOrder.ROW, (4,), (1,), 1), 4, [0, 1, 2, 3]),
        (Tensor(Dtype.BIT, MajorOrder.ROW, (4,), (0,), 1), 4, [0, 1, 2, 3]),
    ],
    ids=["gaps", "inferred-row", "column", "column-gaps", "rows", "rows-inferred", "columns", "none", "bytes", "bit"],
)
def test_strides_of_other_writers_are_followed_to_the_byte(
    world: PoolWorld, reader: PoolReader, tensor: Tensor, values_bytes: int, offsets: list[int]
) -> None:
    put(world, FrameHeader(values_bytes, 1, 0, 0, tensor))
    payload = bytes(range(64)) if tensor.dtype != Dtype.BIT else bytes([0, 1, 1, 0]).ljust(64, b"\1")
    world.reference.payload(1, 0)[:] = payload
    frame = taken(reader.read(descriptor(0)))
    assert frame.shape == tensor.dims
    assert frame.view.array.astype("u1").ravel().tolist() == [payload[offset] for offset in offsets]
    # One byte less, and the furthest element would lie outside.
    put(world, FrameHeader(values_bytes - 1, 1, 0, 0, tensor), RING.nslots)
    assert reader.read(descriptor(RING.nslots)) == "extent"


@pytest.mark.parametrize(
    ("dims", "strides", "wanted"),
    [
        ((0, 5), (0, 0), (0, 5)),
        ((2**31 - 1, 0), (0, 0), (2**31 - 1, 0)),
        # Strides that no machine can add up: nothing is addressed with them.
        ((0, 2**31 - 1, 2**31 - 1), (0, 0, 3), (0, 2**31 - 1, 2**31 - 1)),
        # More elements, were it not empty, than numpy can count.
        ((2**31 - 1, 2**31 - 1, 2**31 - 1, 0), (0,) * 4, "extent"),
        ((0, 2**31 - 1, 2**31 - 1, 2**31 - 1), (0,) * 4, "extent"),
    ],
    ids=str,
)
def test_an_empty_frame_of_vast_dimensions_is_shown_or_dropped(
    world: PoolWorld, reader: PoolReader, dims: tuple[int, ...], strides: tuple[int, ...], wanted: object
) -> None:
    put(world, FrameHeader(0, 1, 0, 0, Tensor(Dtype.UINT8, MajorOrder.ROW, dims, strides, len(dims))))
    answer = reader.read(descriptor(0))
    assert (answer if isinstance(answer, str) else answer.view.array.shape) == wanted


# --- Noise: both readers say the same of it, whatever it is -------------------------------------------------

FLIPS: Final = st.dictionaries(st.integers(0, 255), st.integers(1, 255), min_size=1, max_size=6)
FIELDS: Final = st.sampled_from([*range(8, 34), *range(60, 147)])
"""Where a flip matters more often than not."""


def _judgement(answer: Taken | str) -> object:
    """What can be compared of an answer; for a frame, the bytes that its array shows."""
    if isinstance(answer, str):
        return answer
    return replace(answer, view=None), answer.view.tobytes(), answer.view.array.tobytes()  # type: ignore[arg-type]


def _judged_alike(world: PoolWorld, asked: FrameDescriptor) -> object:
    first, second = (_judgement(world.reader(kind).read(asked)) for kind in KINDS)
    assert first == second
    return first


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=FLIPS | st.dictionaries(FIELDS, st.integers(1, 255), min_size=1, max_size=4))
def test_flipped_bytes_of_a_slot_are_judged_alike(world: PoolWorld, flips: dict[int, int]) -> None:
    view = put(world, SOUND)
    for offset, flip in flips.items():
        view[offset] ^= flip
    _judged_alike(world, descriptor(0))


@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dtype=st.sampled_from([*Dtype, 12, 15]),
    order=st.sampled_from([0, 1, 2, 3]),
    dims=st.lists(st.integers(-1, 5) | st.sampled_from([2**31 - 1, -(2**31)]), max_size=8),
    strides=st.lists(st.integers(-1, 40) | st.sampled_from([0, 0, 2**31 - 1]), min_size=8, max_size=8),
    unit=st.sampled_from([0, 0, 1, 2, 3]),
    progress=st.integers(0, 40),
    values_bytes=st.integers(0, 65),
)
def test_any_tensor_is_judged_alike(
    world: PoolWorld,
    dtype: int,
    order: int,
    dims: list[int],
    strides: list[int],
    unit: int,
    progress: int,
    values_bytes: int,
) -> None:
    padded = dims + [0] * (8 - len(dims))
    tensor = struct.pack("<hhBBBI16i", dtype, order, len(dims), 0, unit, progress, *padded, *strides)
    put(world, SOUND, 0, {8: struct.pack("<I", values_bytes), 72: tensor})
    _judged_alike(world, descriptor(0))


def test_every_single_bit_of_a_slot_is_judged_alike(world: PoolWorld) -> None:
    causes = set()
    for offset, bit in itertools.product(range(256), range(8)):
        put(world, SOUND)[offset] ^= 1 << bit
        causes.add(type(_judged_alike(world, descriptor(0))))
    assert causes == {str, tuple}


# --- Superblocks: what the native core refuses to open, the specification refuses too ------------------------


def _opened(world: PoolWorld) -> str | None:
    """The field that a native client does not believe; None: it opened the regions."""
    try:
        PoolRegions.open(
            world.native.paths[0],
            stream_id=STREAM_ID,
            epoch=EPOCH,
            nslots=RING.nslots,
            pools=[(*pool, path) for pool, path in zip(POOLS.items(), world.native.paths[1:], strict=True)],
            allowed=[str(world.folder.resolve())],
            writable=False,
            require_hugepages=False,
            prefault=False,
        ).close()
    except RegionMismatch as mismatch:
        return str(mismatch.facts["field"])
    return None


def _specified(world: PoolWorld) -> str | None:
    expected = [RING, *(replace(RING, pool_id=number, stride_bytes=stride) for number, stride in POOLS.items())]
    faults = (superblock.fault(view, one) for view, one in zip(world.superblocks(), expected, strict=True))
    return next((fault for fault in faults if fault), None)


def test_regions_as_they_were_made_are_opened(world: PoolWorld) -> None:
    assert _opened(world) is None
    assert _specified(world) is None
    assert bytes(world.superblocks()[0])[:40] == RING.superblock(pid=1, now_ns=1).encode_body()[:40]


@pytest.mark.parametrize("region", [0, 1])
def test_every_flipped_bit_of_a_superblock_is_judged_alike(world: PoolWorld, region: int) -> None:
    view = world.superblocks()[region]
    accepted = set()
    for offset, bit in itertools.product(range(64), range(8)):
        view[offset] ^= 1 << bit
        fault = _opened(world)
        assert fault == _specified(world), (offset, bit)
        if fault is None:
            accepted.add(offset)
        view[offset] ^= 1 << bit
    # Who made it and when is not compared; nor is what a ring says of a stride.
    assert accepted == set(range(40 if region else 36, 64))


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    region=st.integers(0, len(POOLS)),
    flips=st.dictionaries(st.integers(0, 63), st.integers(1, 255), max_size=6),
)
def test_flipped_bytes_of_a_superblock_are_judged_alike(world: PoolWorld, region: int, flips: dict[int, int]) -> None:
    view = world.superblocks()[region]
    before = bytes(view)
    try:
        for offset, flip in flips.items():
            view[offset] ^= flip
        assert _opened(world) == _specified(world)
    finally:
        view[:] = before


def test_a_pool_may_leave_its_slot_bytes_out_and_a_ring_may_not(world: PoolWorld) -> None:
    ring, pool, *_ = world.superblocks()
    pool[32:36] = b"\xff" * 4
    assert (_opened(world), _specified(world)) == (None, None)
    ring[32:36] = b"\xff" * 4
    assert (_opened(world), _specified(world)) == ("slotBytes", "slotBytes")
