# SPDX-License-Identifier: Apache-2.0
"""The map that is announced decides what is joined, whoever announces it."""

from __future__ import annotations

from pathlib import Path

from tests.outside.bed import USAGE, Bed
from tests.outside.rows import read_rows, seqs

FOLLOWS = {"serve": False}


def serve(bed: Bed, config: Path, *words: object) -> None:
    bed.run("mergemap", "serve", "--config", config, "--json", *words, is_ready=True)


def test_an_authority_says_minus_two_and_the_rows_hold_that(bed: Bed) -> None:
    left, right = bed.streams()
    [out] = bed.streams(1)
    said = {"left": {"stream": left, "offset": 0}, "right": {"stream": right, "offset": -2}}
    serve(bed, bed.config("said-by-another", "sequence", said, out=out))
    unsaid = {name: {"stream": each["stream"]} for name, each in said.items()}
    join = bed.join(bed.config("followed", "sequence", unsaid, out=out, mergemap=FOLLOWS))
    for stream in (left, right):
        bed.rate(stream, 500, 100)
    join.summary()
    assert seqs(bed.journal("followed"), "left", "right") == [(seq, seq - 2) for seq in range(2, 100)]
    bed.audit("followed", left, right)


def test_a_rule_in_the_file_that_contradicts_the_map_ends_the_join_with_both_printed(bed: Bed) -> None:
    left, right = bed.streams()
    [out] = bed.streams(1)
    said = {"left": {"stream": left, "offset": 0}, "right": {"stream": right, "offset": -2}}
    serve(bed, bed.config("said", "sequence", said, out=out), "--epoch", 1)
    written = {**said, "right": {"stream": right, "offset": 0}}
    join = bed.join(bed.config("contradicted", "sequence", written, out=out, mergemap=FOLLOWS), is_ready=False)
    assert join.ended(8) == USAGE
    assert "-2" in join.text
    assert "right" in join.text


def test_an_authority_says_that_an_input_is_forty_milliseconds_behind_and_all_pairs_are_joined(bed: Bed) -> None:
    left, right = bed.streams()
    [out] = bed.streams(1)
    rules = {"left": {"stream": left, "offset_ns": 0}, "right": {"stream": right, "offset_ns": -40_000_000}}
    serve(bed, bed.config("said-by-time", "timestamp", rules, out=out))
    bare = {name: {"stream": each["stream"]} for name, each in rules.items()}
    join = bed.join(bed.config("by-time", "timestamp", bare, out=out, mergemap=FOLLOWS))
    step = 10_000_000
    bed.play(left, [(seq, seq, 1_000_000_000 + seq * step) for seq in range(60)])
    bed.play(right, [(seq, seq, 960_000_000 + seq * step) for seq in range(60)])
    join.summary()
    assert seqs(bed.journal("by-time"), "left", "right") == [(seq, seq) for seq in range(60)]


def test_one_file_serves_the_map_and_joins(bed: Bed) -> None:
    left, right = bed.streams()
    config = bed.lockstep("one-file", [left, right], mergemap=FOLLOWS)
    serve(bed, config)
    join = bed.join(config)
    for stream in (left, right):
        bed.rate(stream, 500, 100)
    assert join.summary()["rows"] == 100


def test_the_map_of_the_next_out_epoch_is_served_by_whoever_serves_the_output(bed: Bed) -> None:
    left, right = bed.streams()
    config = bed.lockstep("next-epoch", [left, right], mergemap=FOLLOWS)
    serve(bed, config)
    join = bed.join(config)
    for end in (False, True):
        for each in [bed.rate(stream, 500, 50, end=end) for stream in (left, right)]:
            each.summary()
    assert join.summary()["rows"] == 100
    assert len({row["out_epoch"] for row in read_rows(bed.journal("next-epoch"))}) == 2
    bed.audit("next-epoch", left, right)


def test_a_request_without_an_epoch_finds_the_map_of_a_running_join(bed: Bed) -> None:
    left, right = bed.streams()
    [out] = bed.streams(1)
    bed.join(bed.lockstep("asked", [left, right], out=out))
    request = bed.run("mergemap", "request", "--out-stream", out, "--timeout", 5, "--json")
    assert request.ended() == 0, request
    assert str(left) in request.text


def test_processed_is_refused_where_nothing_feeds_it(bed: Bed) -> None:
    left, right = bed.streams()
    inputs = {"left": {"stream": left}, "right": {"stream": right, "processed": True}}
    join = bed.join(bed.config("processed", "sequence", inputs), is_ready=False)
    assert join.ended() == USAGE
    assert "processed" in join.text


def test_a_map_of_other_streams_blocks_and_the_next_one_is_taken(own_bed: Bed) -> None:
    own_bed.driver()
    left, right, other = own_bed.streams(3)
    [out] = own_bed.streams(1)
    foreign = own_bed.lockstep("of-others", [left, other], out=out)
    wrong = own_bed.run("mergemap", "serve", "--config", foreign, "--epoch", 1, "--json", is_ready=True)
    join = own_bed.join(own_bed.lockstep("blocked", [left, right], out=out, mergemap=FOLLOWS))
    for stream in (left, right):
        own_bed.rate(stream, 500, 50)
    wrong.close()
    serve(own_bed, own_bed.lockstep("right-one", [left, right], out=out))
    assert join.summary()["rows"] == 50
