# SPDX-License-Identifier: Apache-2.0
"""Messages come in the order of their log times whatever their chunks are, within a bound of memory."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from framegate.recording.pieces import Piece
from framegate.recording.recorded import Recorded, Topic
from framegate.recording.time_order import in_order_of_time
from mcap.opcode import Opcode

TOPIC = Topic("/any", "raw", "")
PIECE_BYTES = 100


class Chunks:
    """Chunks of messages, each numbered by its place in the file; and how many are unpacked."""

    def __init__(self, times: list[list[int]]) -> None:
        numbers = iter(range(10_000))
        self.messages = [[Recorded(TOPIC, next(numbers), at, at, b"") for at in chunk] for chunk in times]
        self.loads = 0

    def pieces(self) -> Iterator[Piece]:
        for place, chunk in enumerate(self.messages):
            times = [message.log_time_ns for message in chunk] or [0]
            yield Piece(Opcode.CHUNK, place * PIECE_BYTES, (place + 1) * PIECE_BYTES, min(times), max(times))

    def load(self, piece: Piece) -> list[Recorded]:
        self.loads += 1
        return list(self.messages[piece.at // PIECE_BYTES])

    def in_order(self, held_bytes: int) -> list[tuple[int, int]]:
        found = in_order_of_time(list(self.pieces()), self.load, held_bytes)
        return [(each.log_time_ns, each.sequence) for each in found]

    def wanted(self) -> list[tuple[int, int]]:
        said = [(each.log_time_ns, each.sequence) for chunk in self.messages for each in chunk]
        return sorted(said)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("held_chunks", [1, 3, 1000])
def test_any_chunks_give_all_messages_by_time_and_ties_by_their_place(seed: int, held_chunks: int) -> None:
    dice = random.Random(seed)
    span = dice.choice([5, 1000])
    chunks = Chunks([[dice.randrange(span) for _ in range(dice.randrange(8))] for _ in range(dice.randrange(1, 20))])
    assert chunks.in_order(held_chunks * PIECE_BYTES) == chunks.wanted()


def test_chunks_in_order_are_unpacked_once_each() -> None:
    chunks = Chunks([[10 * k, 10 * k + 5] for k in range(50)])
    assert chunks.in_order(PIECE_BYTES) == chunks.wanted()
    assert chunks.loads == 50


def test_what_is_held_beyond_the_bound_is_unpacked_again() -> None:
    chunks = Chunks([[k, 1000 + k] for k in range(50)])
    assert chunks.in_order(10 * PIECE_BYTES) == chunks.wanted()
    assert chunks.loads > 50
