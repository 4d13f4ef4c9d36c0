# SPDX-License-Identifier: Apache-2.0
"""What does publishing a frame cost over the bare offer of a message as long as its descriptor?

Claim, commit and descriptor, by a native loop that leaves the payload as its slot lies, against exclusive offers of
48 bytes, in turn. Another process drains, as in real life: then both wait for the lines of the log that the other core
has just read, and both pause alike where the log is full. A loop of Aeron's call alone that asks a full log again at
once would measure the drain, not the offer. So that call is the floor only in the rows with nobody at the log
meanwhile, where only the instructions count. Then what looking for a checkpoint barrier before each frame adds, in the
order with, without, without, with; then all with the copy.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.streams import DEFAULT_CHANNEL

from dev.bench.bed import transport
from dev.bench.pool_bed import (
    BARE,
    DESCRIPTORS,
    Partner,
    bare_offer_ns,
    offer_ns,
    producer_on,
    publication,
    publish_beside_copies,
    publish_ns,
    regions,
    sized,
)
from dev.bench.result import Result, in_turn
from framegate._native import CommandWord, bench_poll

OFFERS: Final = 200_000
SIZES: Final = ((4 << 10, 1024, 50_000), (640 << 10, 128, 768))
"""Bytes, slots, frames a round where they are copied."""
EMPTY_SLOTS: Final = 1024
_AT_ONCE: Final = 1_000
"""Messages that the log holds when nobody reads it."""
_LAPS: Final = 100
_ROUNDS: Final = 9
_POLL_PAIRS: Final = 15
REFERENCE: Final = "an independent C implementation publishes in 113-135 ns on such a machine"


def run() -> Iterator[Result]:
    """The ratio for each size, and the times that it is made of; frames without a byte are the floor of all."""
    with transport() as client, Partner(client.aeron_dir, "drain", str(DESCRIPTORS)):
        yield from _drained(client, 0, EMPTY_SLOTS)
    for frame_bytes, slots, frames in SIZES:
        with transport() as client:
            yield from _alone(client, frame_bytes, slots)
        with transport() as client, Partner(client.aeron_dir, "drain", str(DESCRIPTORS)):
            yield from _drained(client, frame_bytes, slots)
            yield _polled(client, frame_bytes, slots)
            yield _copied(client, frame_bytes, slots, frames)


def _drained(client: AeronTransport, frame_bytes: int, slots: int) -> Iterator[Result]:
    with regions(frame_bytes, slots) as made, publication(client) as bare, publication(client) as said:
        producer = producer_on(made, said)
        offers, frames = in_turn(
            (lambda: offer_ns(bare, OFFERS), lambda: publish_ns(producer, frame_bytes, OFFERS, copied=False)),
            _ROUNDS,
        )
    question = f"claim, commit, descriptor of {sized(frame_bytes)} over the exclusive offer"
    yield _ratio(question, offers, frames, 1.5, f"another process drains; {slots} slots; {REFERENCE}")


def _polled(client: AeronTransport, frame_bytes: int, slots: int) -> Result:
    """The same producer and the same memory, with a command word to look at and without."""
    with regions(frame_bytes, slots) as made, publication(client) as said:
        producer, word = producer_on(made, said), CommandWord.anonymous()

        def publish(by: CommandWord | None) -> Callable[[], float]:
            def measure() -> float:
                producer.inject_by(by)
                return publish_ns(producer, frame_bytes, OFFERS, copied=False)

            return measure

        turns = in_turn((publish(word), publish(None), publish(None), publish(word)), _POLL_PAIRS)
    ratios = [(a + d) / (b + c) for a, b, c, d in zip(*turns, strict=True)]
    return Result.of_rounds(
        f"publish of {sized(frame_bytes)} that looks for a barrier, over one that does not",
        ratios,
        unit="x",
        how=f"another process drains; {statistics.median([*turns[0], *turns[3]]):.0f} ns against "
        f"{statistics.median([*turns[1], *turns[2]]):.0f} ns, {_POLL_PAIRS} times in the order ABBA",
    )


def _alone(client: AeronTransport, frame_bytes: int, slots: int) -> Iterator[Result]:
    """A thousand at a time into an empty log, which is polled empty in between, out of the time."""
    heard = [cast(Any, client.add_subscription(DEFAULT_CHANNEL, stream)) for stream in (BARE, DESCRIPTORS)]
    with regions(frame_bytes, slots) as made, publication(client, BARE) as bare, publication(client) as said:
        producer = producer_on(made, said)

        def laps(fill: Callable[[], float], emptied: Any) -> float:
            total_ns = 0.0
            for _ in range(_LAPS):
                total_ns += fill()
                bench_poll(emptied, _AT_ONCE, _AT_ONCE)
            return total_ns / _LAPS

        offers, frames = in_turn(
            (
                lambda: laps(lambda: bare_offer_ns(bare, _AT_ONCE), heard[0]),
                lambda: laps(lambda: publish_ns(producer, frame_bytes, _AT_ONCE, copied=False), heard[1]),
            ),
            _ROUNDS,
        )
    question = f"the same, {sized(frame_bytes)}, over Aeron's call alone, nobody at the log meanwhile"
    yield _ratio(question, offers, frames, None, f"{_AT_ONCE} at a time; {slots} slots")


def _copied(client: AeronTransport, frame_bytes: int, slots: int, count: int) -> Result:
    frames, plain, past_cache = publish_beside_copies(client, frame_bytes, slots, count, _ROUNDS)
    return Result.of_rounds(
        f"publish of {sized(frame_bytes)}, copy included",
        frames,
        unit="ns",
        how=f"bare plain copy {statistics.median(plain):.0f} ns, non-temporal {statistics.median(past_cache):.0f} ns",
    )


def _ratio(question: str, offers: list[float], frames: list[float], target: float | None, how: str) -> Result:
    ratios = [frame / offer for frame, offer in zip(frames, offers, strict=True)]
    return Result.of_rounds(
        question,
        ratios,
        unit="x",
        target=target,
        how=f"{statistics.median(frames):.0f} ns against {statistics.median(offers):.0f} ns of 48 bytes offered; {how}",
    )
