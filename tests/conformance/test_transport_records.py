# SPDX-License-Identifier: Apache-2.0
"""Collecting one fixed-size message out of a stream that carries others too, thousands at a call."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pytest
from framegate.schema.errors import InvalidValue, TransportClosed
from framegate.shmpool.transport.interface import RecordKind, Subscription

if TYPE_CHECKING:
    from tests.conformance.conftest import Wire

Records = npt.NDArray[np.void]

DESCRIPTOR = RecordKind(block_length=40, template_id=4, schema_id=900, version=1, reads_newer=True)
STRICT = DESCRIPTOR._replace(reads_newer=False)
DTYPE = np.dtype([("stream_id", "<u4"), ("epoch", "<u8"), ("seq", "<u8"), ("rest", "V20")])
KINDS = ("records", "other_schema", "other_template", "newer_version", "wrong_block_length", "truncated", "fragmented")


def message(
    seq: int = 0, *, block: int = 40, template: int = 4, schema: int = 900, version: int = 1, body: int | None = None
) -> bytes:
    """An SBE message: header, and a body that begins like a descriptor's."""
    header = struct.pack("<HHHH", block, template, schema, version)
    fields = struct.pack("<IQQ", 7, 1, seq)
    return header + fields.ljust(block, b"\xee")[: block if body is None else body]


def collect(wire: Wire, subscription: Subscription, count: int, kind: RecordKind = DESCRIPTOR) -> list[int]:
    """The sequences of so many records, and then none."""
    found, out = list[int](), np.zeros(64, DTYPE)

    def is_complete() -> bool:
        found.extend(out[: subscription.poll_records(kind, out)]["seq"].tolist())
        return len(found) >= count

    wire.until(is_complete, f"{count} records")
    assert subscription.poll_records(kind, out) == 0
    return found


def consume(wire: Wire, subscription: Subscription, count: int, kind: RecordKind) -> dict[str, int]:
    """Poll until so many messages were looked at; the counters."""
    out = np.zeros(8, DTYPE)

    def is_complete() -> bool:
        subscription.poll_records(kind, out)
        counters = subscription.counters()
        return sum(counters[name] for name in KINDS) >= count

    wire.until(is_complete, f"{count} messages seen")
    return subscription.counters()


def test_records_are_collected_whole_and_in_order(wire: Wire) -> None:
    publication, subscription = wire.pair()
    for seq in range(200):
        publication.offer(message(seq))
    assert collect(wire, subscription, 200) == list(range(200))
    assert subscription.counters()["records"] == 200


def test_every_byte_of_the_body_is_copied(wire: Wire) -> None:
    publication, subscription = wire.pair()
    body = bytes(range(40))
    publication.offer(struct.pack("<HHHH", 40, 4, 900, 1) + body + b"behind the block")
    out = np.zeros(3, DTYPE)
    assert subscription.poll_records(DESCRIPTOR, out, timeout_ns=30_000_000_000) == 1
    assert out[0].tobytes() == body
    assert out[1:].tobytes() == bytes(80)


def test_records_are_picked_out_of_a_mix_and_every_other_kind_is_counted(wire: Wire) -> None:
    publication, subscription = wire.pair()
    others = [
        message(schema=920),
        message(template=5),
        message(template=5),
        message(block=39),
        message(block=41),
        message(block=44, version=2),  # Newer, but STRICT does not read newer ones.
        message(body=39),
        b"",
        b"7 bytes",
        message().ljust(3 * publication.max_claim_bytes),
    ]
    for seq, other in enumerate(others):
        publication.offer(message(seq))
        publication.offer(other)
    assert collect(wire, subscription, len(others), STRICT) == list(range(len(others)))
    counters = consume(wire, subscription, 2 * len(others), STRICT)
    assert {name: counters[name] for name in KINDS} == {
        "records": 10,
        "other_schema": 1,
        "other_template": 2,
        "newer_version": 1,
        "wrong_block_length": 2,
        "truncated": 3,
        "fragmented": 1,
    }


def test_a_newer_record_is_read_as_far_as_it_is_known(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(message(5, block=44, version=2))
    publication.offer(message(6, block=40, version=2))
    assert collect(wire, subscription, 2) == [5, 6]


def test_a_newer_record_with_a_shorter_block_is_none(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(message(block=39, version=2))
    assert consume(wire, subscription, 1, DESCRIPTOR)["wrong_block_length"] == 1


def test_the_limit_and_the_array_bound_the_records_of_a_call(wire: Wire) -> None:
    publication, subscription = wire.pair()
    for seq in range(30):
        publication.offer(message(seq))
    small, large = np.zeros(4, DTYPE), np.zeros(16, DTYPE)
    found = list[int]()
    for out, limit, most in [(small, None, 4), (large, 3, 3), (small, 100, 4)]:
        count = subscription.poll_records(DESCRIPTOR, out, limit, timeout_ns=30_000_000_000)
        assert 1 <= count <= most
        found += out[:count]["seq"].tolist()
        assert not large[3:].tobytes().strip(b"\0")
    found += collect(wire, subscription, 30 - len(found))
    assert found == list(range(30))


def test_no_room_takes_nothing(wire: Wire) -> None:
    publication, subscription = wire.pair()
    publication.offer(message(5))
    assert subscription.poll_records(DESCRIPTOR, np.zeros(0, DTYPE)) == 0
    assert subscription.poll_records(DESCRIPTOR, np.zeros(4, DTYPE), 0) == 0
    assert collect(wire, subscription, 1) == [5]


def _too_small() -> Records:
    return np.zeros(4, "V39")


def _too_large() -> Records:
    return np.zeros(4, "V80")


def _bytes() -> Records:
    return np.zeros(400, "u1")


def _with_gaps() -> Records:
    return np.zeros(8, DTYPE)[::2]


def _read_only() -> Records:
    out = np.zeros(4, DTYPE)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize("make", [_too_small, _too_large, _bytes, _with_gaps, _read_only])
def test_an_unfit_array_is_refused_before_anything_is_taken(wire: Wire, make: Callable[[], Records]) -> None:
    publication, subscription = wire.pair()
    publication.offer(message(5))
    wire.until(lambda: publication.position > 0, "sent")
    with pytest.raises(InvalidValue):
        subscription.poll_records(DESCRIPTOR, make())
    assert sum(subscription.counters().values()) == 0
    assert collect(wire, subscription, 1) == [5]


def test_both_ways_of_polling_share_one_stream_and_their_counters_add_up(wire: Wire) -> None:
    publication, subscription = wire.pair()
    for seq in range(20):
        publication.offer(message(seq))
        publication.offer(message(schema=920))
    polled = len(subscription.poll(7, timeout_ns=30_000_000_000))
    counters = consume(wire, subscription, 40 - polled, DESCRIPTOR)
    assert counters["messages"] == polled
    assert polled + sum(counters[name] for name in KINDS) == 40


def test_records_of_a_closed_subscription_cannot_be_polled(wire: Wire) -> None:
    _, subscription = wire.pair()
    subscription.close()
    with pytest.raises(TransportClosed):
        subscription.poll_records(DESCRIPTOR, np.zeros(4, DTYPE))
