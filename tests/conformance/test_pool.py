# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F401, F811 - fixtures are imported, and stand as arguments
"""Frames through region files: each writer with each reader, the executable specification and the native core."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
from framegate.schema.errors import (
    FrameTooLarge,
    InvalidValue,
    SlotLapped,
    WrongArray,
)
from framegate.schema.wire import MajorOrder
from framegate.shmpool.layout import commit
from framegate.shmpool.layout.slot import NULL_META_VERSION
from framegate.spec.pool import Tensor

from tests.conformance.pool_checks import KINDS, assert_shows, counting, descriptor, pipes, reader, taken, world, writer
from tests.conformance.pool_world import (
    POOLS,
    RING,
    Array,
    Pipes,
    PoolReader,
    PoolWorld,
    PoolWriter,
    pool_world,
)

DTYPES: Final = ("bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
SEQUENCE_MAX: Final = 2**63 - 1


# --- What goes in comes out -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_out_as_it_went_in(writer: PoolWriter, reader: PoolReader, dtype: str) -> None:
    array = counting((3, 2), dtype)
    assert_shows(reader.read(writer.publish(array)), array)


@pytest.mark.parametrize("ndims", range(9))
def test_up_to_eight_dimensions_come_out_as_they_went_in(writer: PoolWriter, reader: PoolReader, ndims: int) -> None:
    array = counting(tuple(2 + index % 2 for index in range(ndims)), "u1")
    assert_shows(reader.read(writer.publish(array)), array)


def test_nine_dimensions_are_refused_and_the_old_frame_stays(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader
) -> None:
    old = writer.publish(counting((3,)))
    before = bytes(world.slot(0))
    with pytest.raises(WrongArray):
        writer.publish(counting((1,) * 9))
    assert bytes(world.slot(0)) == before
    assert_shows(reader.read(old), counting((3,)))


@pytest.mark.parametrize("dtype", ["f2", "c16", "M8[ns]", "S4", ">u2"])
def test_a_dtype_that_no_frame_can_hold_is_refused(writer: PoolWriter, dtype: str) -> None:
    with pytest.raises(WrongArray):
        writer.publish(np.zeros(4, dtype))


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (5, 1, 2, 3)])
def test_column_order_is_kept_and_its_bytes_are_not_turned(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader, shape: tuple[int, ...]
) -> None:
    array = np.asfortranarray(counting(shape, "u2"))
    frame = taken(reader.read(writer.publish(array)))
    assert_shows(frame, array)
    assert frame.view.array.flags.f_contiguous
    assert frame.view.tobytes() == array.tobytes("F")
    assert Tensor.of(array).major_order == MajorOrder.COLUMN == struct.unpack_from("<h", world.slot(0), 74)[0]


@pytest.mark.parametrize(
    "array",
    [
        counting((8, 6), "u2")[::2, 1::3],
        counting((6,), "i4")[::-1],
        counting((2, 3, 4), "u1").transpose(1, 2, 0),
        np.broadcast_to(np.uint8(5), (3, 3)),
        counting((4, 4), "f8")[:, 1],
    ],
    ids=["steps", "backwards", "turned", "broadcast", "column"],
)
def test_an_array_with_gaps_is_copied_row_by_row(writer: PoolWriter, reader: PoolReader, array: Array) -> None:
    frame = taken(reader.read(writer.publish(array)))
    assert_shows(frame, array)
    assert frame.view.tobytes() == array.tobytes("C")


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (0, 4)])
def test_an_empty_payload_is_a_frame_like_any_other(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader, shape: tuple[int, ...]
) -> None:
    writer.publish(counting((3,)))
    frame = taken(reader.read(writer.publish(np.empty(shape, "f4"))))
    assert_shows(frame, np.empty(shape, "f4"))
    assert frame.view.tobytes() == b""
    assert struct.unpack_from("<II", world.slot(1), 8) == (0, 1)


def test_a_filled_claim_is_a_frame_like_any_other(writer: PoolWriter, reader: PoolReader) -> None:
    array = counting((2, 3), "i2")
    assert_shows(reader.read(writer.fill(array)), array)


# --- Where it lies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "pool_id"), [(0, 1), (1, 1), (64, 1), (65, 2), (256, 2), (257, 3), (4096, 3)])
def test_the_smallest_pool_that_holds_a_payload_is_taken_to_the_byte(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader, length: int, pool_id: int
) -> None:
    writer.publish(counting((1,)))
    array = counting((length,))
    found = writer.publish(array)
    assert struct.unpack_from("<H", world.slot(1), 16)[0] == pool_id
    at = 64 + POOLS[pool_id] * 1
    file = (world.folder / f"regions/{pool_id}.pool").read_bytes()
    assert file[at : at + length] == array.tobytes()
    assert_shows(reader.read(found), array)


def test_a_frame_that_fits_no_pool_is_refused_and_the_old_frame_stays(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader
) -> None:
    frames = [writer.publish(counting((3,))) for _ in range(RING.nslots)]
    before = bytes(world.slot(0))
    with pytest.raises(FrameTooLarge) as caught:
        writer.publish(counting((4097,)))
    assert caught.value.facts["limit_bytes"] == 4096
    assert bytes(world.slot(0)) == before
    assert_shows(reader.read(frames[0]), counting((3,)))
    assert writer.publish(counting((3,))).seq == RING.nslots


def test_frames_go_round_the_ring(world: PoolWorld, writer: PoolWriter, reader: PoolReader) -> None:
    for seq in range(3 * RING.nslots + 1):
        array = counting((7,)) + np.uint8(seq)
        found = writer.publish(array)
        assert found.seq == seq
        at = 64 + 256 * (seq % RING.nslots)
        assert (world.folder / "regions/header.ring").read_bytes()[at : at + 8] == struct.pack("<Q", seq * 2 + 1)
        assert_shows(reader.read(found), array)


def test_each_slot_of_the_ring_keeps_its_frame_until_it_is_overwritten(writer: PoolWriter, reader: PoolReader) -> None:
    arrays = [counting((2, 2), "u4") + np.uint32(seq) for seq in range(RING.nslots)]
    for found, array in zip([writer.publish(array) for array in arrays], arrays, strict=True):
        assert_shows(reader.read(found), array)


@pytest.mark.parametrize("nslots", [1, 2, 8])
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)), ids="-".join)
def test_a_ring_may_have_any_power_of_two_of_slots(pipes: Pipes, kinds: tuple[str, str], nslots: int) -> None:
    with pool_world(pipes, replace(RING, nslots=nslots), {9: 128}) as world:
        writer, reader = world.writer(kinds[0]), world.reader(kinds[1])
        for seq in range(2 * nslots):
            assert_shows(reader.read(writer.publish(counting((seq,)))), counting((seq,)))


# --- Both writers leave the same bytes --------------------------------------------------------------------

MIXED: Final[list[tuple[Array, dict[str, int]]]] = [
    (counting((2, 3), "f4"), {}),
    (np.asfortranarray(counting((5, 7), "i8")), {"timestamp_ns": 0}),
    (
        counting((6, 6), "u2")[::2, ::3],
        {"timestamp_ns": 2**64 - 2, "descriptor_timestamp_ns": 9, "trace_id": 2**64 - 1},
    ),
    (np.empty((0, 3), "bool"), {"seq": 6, "descriptor_timestamp_ns": 0}),
    (counting((2,) * 8), {"timestamp_ns": 2**40 + 1}),
    (counting((), "u1"), {"seq": 2**40 + 1}),
    (counting((4096,), "i1"), {"seq": SEQUENCE_MAX - 1, "trace_id": 1}),
    (counting((1, 64), "u1"), {}),
]


def _written(pipes: Pipes, kind: str, noise: int) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Descriptors, slots as they were after each frame, and payloads, of a writer over memory full of noise."""
    with pool_world(pipes) as world:
        for index in range(RING.nslots):
            world.slot(index)[:] = bytes([noise]) * 256
        writer = world.writer(kind)
        descriptors, slots, payloads = list[bytes](), list[bytes](), list[bytes]()
        for version, (array, others) in enumerate(MIXED):
            writer.set_meta_version(version or None)
            found = writer.publish(array, **others)
            descriptors.append(found.encode())
            slots.append(bytes(world.slot(found.seq % RING.nslots)))
            payloads.append(taken(world.reader("reference").read(found)).view.tobytes())
        return descriptors, slots, payloads


@pytest.mark.parametrize("noise", [0x00, 0xFF, 0xA5])
def test_both_writers_leave_the_same_bytes_over_whatever_was_there(pipes: Pipes, noise: int) -> None:
    reference, native = _written(pipes, "reference", noise), _written(pipes, "native", noise)
    assert native == reference
    assert native[1:] == _written(pipes, "native", 0)[1:]


def test_both_writers_leave_the_same_bytes_of_a_filled_claim(pipes: Pipes) -> None:
    found = []
    for kind in KINDS:
        with pool_world(pipes) as world:
            found.append((world.writer(kind).fill(counting((3, 5), "i4")).encode(), bytes(world.slot(0))))
    assert found[0] == found[1]


# --- Frames that are gone ---------------------------------------------------------------------------------


def test_a_lapped_frame_is_another_frame(writer: PoolWriter, reader: PoolReader) -> None:
    first = writer.publish(counting((3,)))
    for _ in range(RING.nslots):
        last = writer.publish(counting((4,)))
    assert reader.read(first) == "other_frame"
    assert_shows(reader.read(last), counting((4,)))


def test_a_frame_that_was_never_written_is_in_progress(reader: PoolReader) -> None:
    assert reader.read(descriptor(0)) == "in_progress"
    assert reader.read(descriptor(1)) == "in_progress"


def test_a_writer_that_died_in_the_middle_leaves_a_slot_that_is_skipped(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader
) -> None:
    for _ in range(RING.nslots):
        writer.publish(counting((3,)))
    commit.store(world.slot(0), commit.in_progress(RING.nslots))
    assert reader.read(descriptor(RING.nslots)) == "in_progress"
    # One attempt: a frame that is committed after its descriptor was looked at does not come by itself.
    commit.store(world.slot(0), commit.committed(RING.nslots))
    assert reader.read(descriptor(RING.nslots + 1)) == "other_frame"


def test_an_abandoned_frame_is_skipped_and_its_sequence_is_used_again(writer: PoolWriter, reader: PoolReader) -> None:
    writer.publish(counting((3,)))
    writer.abandon(counting((9,)))
    assert reader.read(descriptor(1)) == "in_progress"
    found = writer.publish(counting((5,)))
    assert found.seq == 1


def test_after_an_abandoned_frame_none_is_missing(writer: PoolWriter, reader: PoolReader) -> None:
    frames = [writer.publish(counting((3,)))]
    writer.abandon(counting((9,)))
    frames += [writer.publish(counting((length,))) for length in (5, 6)]
    assert [frame.seq for frame in frames] == [0, 1, 2]
    for found, length in zip(frames, (3, 5, 6), strict=True):
        assert_shows(reader.read(found), counting((length,)))


def test_a_commit_word_that_goes_back_is_stale(world: PoolWorld, writer: PoolWriter, reader: PoolReader) -> None:
    frames = [writer.publish(counting((3,))) for _ in range(2 * RING.nslots + 1)]
    assert_shows(reader.read(frames[-1]), counting((3,)))
    commit.store(world.slot(0), commit.committed(RING.nslots))
    assert reader.read(descriptor(3 * RING.nslots)) == "went_back"
    commit.store(world.slot(0), commit.committed(4 * RING.nslots))
    assert_shows(reader.read(descriptor(4 * RING.nslots)), counting((3,)))


def test_a_word_that_changes_while_its_slot_is_read_drops_the_frame(
    world: PoolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = world.writer("reference").publish(counting((3,)))
    reader, load = world.reader("reference"), commit.load

    def load_and_lose(view: memoryview) -> int:
        word = load(view)
        commit.store(view, commit.in_progress(RING.nslots))
        return word

    monkeypatch.setattr(commit, "load", load_and_lose)
    assert reader.read(found) == "overwritten"


def test_a_view_is_valid_until_its_slot_is_taken(writer: PoolWriter, reader: PoolReader) -> None:
    frame = taken(reader.read(writer.publish(counting((3,)))))
    for _ in range(RING.nslots - 1):
        writer.publish(counting((9,)))
        assert frame.view.is_valid()
    assert frame.view.copy().tolist() == counting((3,)).tolist()
    writer.abandon(counting((1,)))
    assert not frame.view.is_valid()
    for ask in (frame.view.copy, frame.view.tobytes):
        with pytest.raises(SlotLapped) as caught:
            ask()
        assert (caught.value.facts["want_seq"], caught.value.facts["have_seq"]) == (0, RING.nslots)


def test_a_copy_outlives_its_frame(writer: PoolWriter, reader: PoolReader) -> None:
    copied = taken(reader.read(writer.publish(counting((3,), "u2")))).view.copy()
    for _ in range(RING.nslots):
        writer.publish(counting((3,), "u2") + np.uint16(9))
    assert copied.tolist() == counting((3,), "u2").tolist()


def test_a_writer_never_waits_for_who_holds_its_frames(writer: PoolWriter, reader: PoolReader) -> None:
    held = [taken(reader.read(writer.publish(counting((3,))))) for _ in range(RING.nslots)]
    assert [writer.publish(counting((5,))).seq for _ in range(100)] == list(range(RING.nslots, RING.nslots + 100))
    assert not any(frame.view.is_valid() for frame in held)


# --- Stamps and sequences ---------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", [None, 0, 1, 2**63, 2**64 - 2])
@pytest.mark.parametrize("publish", [None, 0, 2**64 - 2])
def test_both_timestamps_arrive_apart_and_null_is_not_zero(
    writer: PoolWriter, reader: PoolReader, capture: int | None, publish: int | None
) -> None:
    found = writer.publish(counting((2,)), timestamp_ns=capture, descriptor_timestamp_ns=publish)
    frame = taken(reader.read(found))
    assert (frame.timestamp_ns, frame.descriptor_timestamp_ns) == (capture, publish)


def test_what_is_not_given_is_written_as_null(world: PoolWorld, writer: PoolWriter) -> None:
    found = writer.publish(counting((2,)))
    assert found.encode()[28:] == b"\xff" * 12 + bytes(8)
    assert bytes(world.slot(0)[22:34]) == b"\xff" * 12


@pytest.mark.parametrize("version", [None, 0, 1, 2**32 - 2])
def test_the_metadata_version_stands_in_slot_and_descriptor(
    world: PoolWorld, writer: PoolWriter, reader: PoolReader, version: int | None
) -> None:
    writer.set_meta_version(version)
    found = writer.publish(counting((2,)))
    word = NULL_META_VERSION if version is None else version
    assert found.meta_version == version
    assert struct.unpack_from("<I", world.slot(0), 30)[0] == word
    assert taken(reader.read(found)).meta_version == version


@pytest.mark.parametrize("trace_id", [0, 1, 2**64 - 1])
def test_a_trace_id_is_carried_and_zero_is_none(writer: PoolWriter, reader: PoolReader, trace_id: int) -> None:
    found = writer.publish(counting((2,)), trace_id=trace_id)
    assert taken(reader.read(found)).trace_id == (trace_id or None)


def test_the_slot_alone_says_what_the_frame_is(writer: PoolWriter, reader: PoolReader) -> None:
    writer.set_meta_version(3)
    found = writer.publish(counting((2,)), timestamp_ns=5, descriptor_timestamp_ns=6)
    frame = taken(reader.read(replace(found, meta_version=99, timestamp_ns=4)))
    assert (frame.meta_version, frame.timestamp_ns, frame.descriptor_timestamp_ns) == (3, 5, 4)
    assert_shows(frame, counting((2,)))


def test_sequences_may_leave_gaps_and_reading_goes_on(writer: PoolWriter, reader: PoolReader) -> None:
    for seq in (0, 5, 6, 100, 2**40):
        found = writer.publish(counting((3,)), seq=seq)
        assert found.seq == seq
        assert_shows(reader.read(found), counting((3,)))


def test_sequences_never_go_back(writer: PoolWriter) -> None:
    writer.publish(counting((3,)), seq=5)
    for seq in (0, 5):
        with pytest.raises(InvalidValue):
            writer.publish(counting((3,)), seq=seq)
    assert writer.publish(counting((3,))).seq == 6


def test_the_largest_sequence_is_written_and_then_there_is_an_end(writer: PoolWriter, reader: PoolReader) -> None:
    found = writer.publish(counting((3,)), seq=SEQUENCE_MAX)
    assert_shows(reader.read(found), counting((3,)))
    with pytest.raises(InvalidValue):
        writer.publish(counting((3,)))
    with pytest.raises(InvalidValue):
        writer.fill(counting((3,)))
