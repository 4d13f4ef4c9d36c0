# SPDX-License-Identifier: Apache-2.0
"""The same join, again, in the folder that it has written: it goes on behind its rows."""

from __future__ import annotations

import time

import pytest

from tests.outside.bed import Bed, Process, until
from tests.outside.rows import read_rows

COUNT = 1500


def readme_run(bed: Bed, producers_first: bool) -> dict[str, object]:
    """What the README says under "A join", by its own streams and frames.

    Its 1,000 frames of 300 KiB a second and stream take both of two cores, which another test may be using.
    """
    words = ("--rate", 250, "--count", COUNT)
    config = bed.folder / "lockstep.toml"

    def produce() -> None:
        for stream in (10_001, 10_002):
            bed.produce(stream, *words)

    if producers_first:
        produce()
        join = bed.join(config, is_ready=False)
    else:
        join = bed.join(config)
        produce()
    return join.summary()


@pytest.mark.parametrize("producers_first", [True, False])
def test_the_example_of_the_readme_joins_all_frames_twice_in_one_folder(own_bed: Bed, producers_first: bool) -> None:
    own_bed.driver()
    assert own_bed.run("join", "--example", "lockstep").ended() == 0
    assert readme_run(own_bed, producers_first)["rows"] == COUNT
    assert readme_run(own_bed, producers_first)["rows"] == COUNT
    # Rows of 614 kB: the journal keeps the newest of them, as far as its bound reaches.
    kept = [row["row"] for row in read_rows(own_bed.journal("out/lockstep"))]
    assert len(kept) > 500
    assert kept == list(range(2 * COUNT - len(kept), 2 * COUNT))
    own_bed.audit("out/lockstep", 10_001, 10_002)
    assert own_bed.run("journal", "verify", "out/lockstep").ended() == 0


def test_a_join_that_is_run_again_waits_for_producers_and_says_for_whom(bed: Bed) -> None:
    left, right = bed.streams()
    config = bed.lockstep("waits", [left, right])

    def joined(join: Process) -> int:
        for stream in (left, right):
            bed.rate(stream, 500, 50)
        join.summary()
        return len(read_rows(bed.journal("waits")))

    assert joined(bed.join(config)) == 50
    again = bed.join(config)
    until(lambda: "s0" in again.errors or again.has_ended, "the inputs that are waited for, named")
    assert not again.has_ended
    assert joined(again) == 100
    bed.audit("waits", left, right)


def test_a_join_that_was_killed_goes_on_and_every_frame_has_its_fate(bed: Bed) -> None:
    left, right = bed.streams()
    config = bed.lockstep("again", [left, right])
    join = bed.join(config)
    for stream in (left, right):
        bed.rate(stream, 500, 1500)
    until(lambda: len(read_rows(bed.journal("again"))) > 100, "rows", 10)
    join.kill()
    assert bed.join(config, is_ready=False).summary()["rows"] > 0
    bed.audit("again", left, right)


def test_epochs_go_on_though_the_host_was_started_anew(bed: Bed) -> None:
    """A journal outlives the host's run. What counts from the start of the host would be an epoch that is over."""
    (stream,) = bed.streams(1)
    began_ns = time.time_ns()
    bed.produce(stream, "--rate", 1000, "--count", 1, consumers=0).summary()
    (sent,) = bed.sent(stream)
    epoch = int(sent.read_text().splitlines()[1].split(",")[1])
    # The clocks may drift apart while the driver runs.
    assert epoch > began_ns - 3_600_000_000_000
