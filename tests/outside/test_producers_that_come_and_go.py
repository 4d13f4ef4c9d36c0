# SPDX-License-Identifier: Apache-2.0
"""Producers start when they like, and end, leave or die when they have published; what they published is joined."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.outside.bed import Bed, Process, apart, until
from tests.outside.rows import read_rows, seqs

ALL = 200


def pairs(count: int) -> list[tuple[int, int]]:
    return [(seq, seq) for seq in range(count)]


def test_a_second_producer_starts_when_the_first_is_nearly_done_and_every_frame_is_joined(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("later", [left, right]))
    bed.rate(left, 200, ALL, "480x640")
    apart(0.6)
    bed.rate(right, 200, ALL, "480x640")
    assert join.summary()["rows"] == ALL
    assert seqs(bed.journal("later"), "s0", "s1") == pairs(ALL)
    bed.audit("later", left, right)


def test_a_second_producer_starts_after_the_first_has_left_and_every_frame_is_joined(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("after", [left, right]))
    bed.rate(left, 2000, 100).summary()
    apart(1.5)
    bed.rate(right, 2000, 100)
    assert join.summary()["rows"] == 100
    bed.audit("after", left, right)


def test_a_producer_that_is_killed_before_its_partner_starts_loses_no_frame(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("killed", [left, right], join={"outputs": 100}))
    first = bed.rate(left, 1000, 100_000)
    until(lambda: bed.sent_frames(left) >= 100, "100 frames published")
    first.kill()
    apart(1.0)
    bed.rate(right, 1000, 100)
    assert join.summary()["rows"] == 100
    assert seqs(bed.journal("killed"), "s0", "s1") == pairs(100)


def test_a_producer_that_begins_anew_again_and_again_keeps_at_most_three_mappings(bed: Bed) -> None:
    """Each life leaves frames that wait for a partner that has not come yet."""
    left, right = bed.streams()
    join = bed.join(bed.lockstep("lives", [left, right]))
    for _ in range(8):
        bed.rate(left, 2000, 20, end=False).summary()
        assert len(mapped_epochs(join, left)) <= 3, mapped_epochs(join, left)
    assert mapped_epochs(join, left), "nothing is mapped at all"
    bed.rate(right, 2000, 20).summary()
    until(lambda: read_rows(bed.journal("lives")), "rows of the last life")
    assert join.interrupted()["rows"] == 20
    bed.audit("lives", left, right)


def mapped_epochs(join: Process, stream: int) -> set[str]:
    """The epochs of a stream whose rings a join has mapped, as the kernel knows them: STREAM/EPOCH/header.ring."""
    maps = Path(f"/proc/{join.pid}/maps").read_text()
    return set(re.findall(rf"/{stream}/(\d+)/header\.ring", maps))


def test_a_configuration_published_once_is_in_every_row_though_its_producer_has_left(bed: Bed) -> None:
    data, config = bed.streams()
    inputs = {"data": {"stream": data}, "config": {"stream": config}}
    join = bed.join(bed.config("latest", "latest", inputs, join={"drive": "input:data"}))
    bed.play(config, [(0, 0, 1)]).summary()
    bed.rate(data, 400, 400)
    assert join.summary()["rows"] == 400
    assert {row["config"]["seq"] for row in read_rows(bed.journal("latest"))} == {0}
    bed.audit("latest", data, config)


def test_a_configuration_that_is_older_than_the_stale_time_out_is_absent(bed: Bed) -> None:
    data, config = bed.streams()
    inputs = {"data": {"stream": data}, "config": {"stream": config}}
    maps = {"serve": True, "stale_timeout_ms": 300}
    join = bed.join(bed.config("stale", "latest", inputs, join={"drive": "input:data"}, mergemap=maps))
    bed.play(config, [(0, 0, 1)])
    bed.rate(data, 400, 600)
    join.summary()
    found = [row["config"]["status"] for row in read_rows(bed.journal("stale"))]
    assert found
    assert found[-1] == "stale"


@pytest.mark.parametrize(
    ("hz", "shape", "count"),
    [
        pytest.param(1_000, "4096", 3_000, id="4 KiB at 1,000"),
        pytest.param(20_000, "4096", 20_000, id="4 KiB at 20,000"),
        pytest.param(100, "640x1024", 200, id="640 KiB at 100"),
        pytest.param(1, "64", 3, id="64 bytes at 1"),
    ],
)
def test_live_producers_that_start_a_moment_apart_are_joined_from_the_first_frame(
    bed: Bed, hz: int, shape: str, count: int
) -> None:
    left, right = bed.streams()
    name = f"apart-{hz}"
    join = bed.join(bed.lockstep(name, [left, right]))
    producers: list[Process] = [bed.rate(left, hz, count, shape)]
    apart(0.3)
    producers.append(bed.rate(right, hz, count, shape))
    for each in producers:
        each.summary()
    assert join.summary()["rows"] == count
    bed.audit(name, left, right)


def test_an_input_that_never_comes_is_named_when_the_join_is_told_to_end(bed: Bed) -> None:
    left, right = bed.streams()
    join = bed.join(bed.lockstep("alone", [left, right]))
    bed.rate(left, 1000, 50).summary()
    apart(2.5)
    found = join.interrupted()
    assert found["rows"] == 0
    assert "s1" in join.errors
    assert found["unmatched"]["s0"] == 50
    bed.audit("alone", left)
