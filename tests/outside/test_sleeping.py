# SPDX-License-Identifier: Apache-2.0
"""Whoever waits for frames sleeps until a producer rings, wherever producers do, and loses nothing by it."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from tests.outside.bed import Bed, Process, apart, until
from tests.outside.rows import newest_row

FRAMES = 300


def _has_row(journal: Path) -> bool:
    return newest_row(journal) == 0


def wakes(process: Process, seconds: float) -> int:
    """How often the main thread of a process was woken in that time."""

    def so_far() -> int:
        status = Path(f"/proc/{process.pid}/task/{process.pid}/status").read_text()
        return int(status.partition("nonvoluntary")[0].rpartition("voluntary_ctxt_switches:")[2].split()[0])

    before = so_far()
    apart(seconds)
    return so_far() - before


def test_a_consumer_of_a_silent_producer_sleeps(bed: Bed) -> None:
    [stream] = bed.streams(1)
    consumers = {
        idle: bed.run("consume", "--stream", stream, "--idle", idle, "--json", is_ready=True)
        for idle in ("bell", "backoff")
    }
    bed.play(stream, [(0, 0, 1), (5_000, 1, 2)], consumers=2)
    for consumer in consumers.values():
        consumer.says(seq=0)
    apart(0.5)
    woken = {idle: wakes(consumer, 2.0) for idle, consumer in consumers.items()}
    assert woken["bell"] * 20 < woken["backoff"], woken
    for consumer in consumers.values():
        assert consumer.summary()["frames"] == 2


def test_a_join_of_silent_producers_sleeps(bed: Bed) -> None:
    woken = {}
    for idle in ("bell", "backoff"):
        left, right = bed.streams(2)
        config = bed.lockstep(idle, [left, right], join={"idle": idle})
        join = bed.join(config)
        for stream in (left, right):
            bed.play(stream, [(0, 0, 1), (8_000, 1, 2)])
        until(partial(_has_row, bed.journal(idle)), "the first row")
        apart(0.5)
        woken[idle] = wakes(join, 2.0)
        assert join.summary()["rows"] == 2
    assert woken["bell"] * 3 < woken["backoff"], woken


@pytest.mark.parametrize("seed", [1, 2])
def test_pauses_of_any_length_cost_no_row(bed: Bed, seed: int) -> None:
    dice = random.Random(seed)
    left, right = bed.streams(2)
    join = bed.join(bed.lockstep(f"pauses-{seed}", [left, right]))
    for stream in (left, right):
        at_ms, steps = 0.0, list[tuple[float, int, int]]()
        for seq in range(FRAMES):
            at_ms += dice.choice([0.0, 0.02, 0.1, 1.0, 5.0, 40.0])
            steps.append((round(at_ms, 3), seq, seq + 1))
        bed.play(stream, steps)
    assert join.summary()["rows"] == FRAMES
    bed.audit(f"pauses-{seed}", left, right)


def test_a_producer_that_was_killed_costs_its_readers_only_its_own_frames(bed: Bed) -> None:
    [stream] = bed.streams(1)
    consumer = bed.run("consume", "--stream", stream, "--json", is_ready=True)
    killed = bed.rate(stream, 50, 100_000, end=False)
    consumer.says(seq=20)
    killed.kill()
    until(lambda: killed.has_ended, "the producer is gone")
    bed.rate(stream, 50, 40)
    frames = consumer.summary()["frames"]
    assert isinstance(frames, int)
    assert frames >= 61


def test_a_way_to_wait_that_there_is_not_is_answered_with_those_there_are(bed: Bed) -> None:
    refused = bed.run("consume", "--stream", 1, "--idle", "deeply")
    assert refused.ended() == 2
    for word in ("bell", "backoff", "yield", "spin"):
        assert word in refused.errors


_ASYNC = """
import asyncio, json, sys
import framegate as fg

def say(**told):
    print(json.dumps(told), flush=True)

async def main(stream):
    loop, over, seqs = asyncio.get_running_loop(), asyncio.Event(), []
    beats = 0
    with fg.connect() as client, client.consumer(stream) as consumer:
        def on_readable():
            seqs.extend(frame.seq for frame in consumer.poll())
            if consumer.has_finished():
                over.set()
        loop.add_reader(consumer.fileno(), on_readable)
        say(event="ready")
        while not over.is_set():
            beats += 1
            await asyncio.sleep(0.01)
        loop.remove_reader(consumer.fileno())
    say(event="summary", seqs=seqs, beats=beats)

asyncio.run(main(int(sys.argv[1])))
"""


def test_an_event_loop_reads_frames_when_they_come_and_goes_on_with_its_own_work(bed: Bed) -> None:
    [stream] = bed.streams(1)
    program = bed.python(_ASYNC, stream)
    program.says(event="ready")
    bed.rate(stream, 100, 150)
    summary = program.summary()
    assert summary["seqs"] == list(range(150))
    beats = summary["beats"]
    assert isinstance(beats, int)
    assert beats > 50


def test_a_consumer_with_a_descriptor_says_who_has_its_frames(bed: Bed) -> None:
    [stream] = bed.streams(1)
    program = bed.python(
        "import sys\nimport framegate as fg\n"
        "with fg.connect() as client, client.consumer(int(sys.argv[1])) as consumer:\n"
        "    consumer.fileno()\n    next(iter(consumer))\n",
        stream,
    )
    assert program.ended() == 1
    assert "whoever has its descriptor" in program.errors
