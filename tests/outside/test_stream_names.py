# SPDX-License-Identifier: Apache-2.0
"""Streams by name, from the command line: one's own numbers, a driver's, and those of a recording."""

from __future__ import annotations

import json
from pathlib import Path

from tests.outside.bed import Bed, Object, until


def numbers(base_dir: Path) -> dict[str, int]:
    """The names of a base directory, as docs/formats.md describes their file."""
    found: dict[str, int] = json.loads((base_dir / "streams.json").read_text())["names"]
    return found


def test_names_are_the_same_streams_to_every_command(bed: Bed) -> None:
    join = bed.run("join", "left", "right:-2", "--out", bed.journal("pair"), "--json", is_ready=True)
    record = bed.run(
        "record", bed.folder / "pair.mcap", "--streams", "left,right", "--payload", "--json", is_ready=True
    )
    for name in ("left", "right"):
        bed.rate(name, 100, 200, consumers=2)
    assert join.summary()["rows"] == 198
    assert record.summary()["frames"] == 400
    names = numbers(bed.folder / "pool")
    described = json.loads((bed.journal("pair") / "journal.json").read_text())
    assert [each["stream"] for each in described["inputs"]] == [names["left"], names["right"]]
    consumer = bed.run("inspect", bed.folder / "pair.mcap", "--streams", "left", "--json")
    assert consumer.ended() == 0, consumer
    assert {each["stream"] for each in consumer.objects() if "stream" in each} == {names["left"]}


def test_people_read_names_and_programs_get_both(own_bed: Bed) -> None:
    own_bed.driver()
    recording, config = own_bed.folder / "pair.mcap", own_bed.folder / "pair.toml"
    config.write_text(
        '[join]\nout_stream = "pair"\npolicy = "sequence"\njournal = "pair"\n'
        '[[input]]\nname = "left"\n[[input]]\nname = "other"\nstream = "right"\noffset = 0\n'
    )
    join = own_bed.run("join", "--config", config, "--json", is_ready=True)
    record = own_bed.run("record", recording, "--streams", "left,right", "--payload", "--json", is_ready=True)
    shown = own_bed.run("mergemap", "show", "--seconds", 4)
    waits = own_bed.run("produce", "--stream", "left", "--rate", 100, "--count", 99, "--wait-consumers", 3, "--end")
    until(lambda: "waits for its consumers" in waits.errors, f"a line about consumers: {waits}")
    names = numbers(own_bed.folder / "pool")
    left, right, pair = (f"{name} ({names[name]})" for name in ("left", "right", "pair"))
    assert f"stream {left}: waits for its consumers: 2 of 3" in waits.errors
    status = own_bed.run("status")
    assert status.ended() == 0, status
    assert f"left+other -> {pair}" in status.text
    [said] = [each for each in _objects(own_bed, "status") if each["event"] == "join"]
    assert (said["out_stream"], said["out_name"]) == (names["pair"], "pair")
    assert shown.ended() == 0, shown
    assert f"output {pair}, epoch 1: {left} OFFSET 0, {right} OFFSET 0" in shown.text
    [rules] = [each["rules"] for each in _objects(own_bed, "mergemap", "show", "--seconds", 2) if "rules" in each]
    assert [(each["stream"], each["name"]) for each in rules] == [(names["left"], "left"), (names["right"], "right")]
    live = own_bed.run("inspect", "live", "--seconds", 3, is_ready=False)
    third = own_bed.run("consume", "--stream", "left")
    own_bed.rate("right", 100, 99, consumers=2)
    assert (waits.ended(), third.ended(), live.ended()) == (0, 0, 0)
    assert f" {left} FrameDescriptor seq=" in live.text
    assert join.summary()["rows"] == 99
    assert [each["name"] for each in record.summary()["streams"]] == ["left", "right"]
    listed = own_bed.run("journal", "ls", "pair")
    assert listed.ended() == 0, listed
    assert f"output {pair}, sequence: left ({names['left']}), other ({names['right']})" in listed.text
    # A recording says whose it is wherever it is read.
    for words in ((), ("--stats",), ("--stream", "right")):
        read = own_bed.run("inspect", recording, *words, "--base-dir", own_bed.folder / "elsewhere")
        assert read.ended() == 0, read
        assert (left in read.text, right in read.text) == ("--stream" not in words, True)
    told = _objects(own_bed, "inspect", recording)
    assert {(each["stream"], each["name"]) for each in told if each.get("kind") == "FrameDescriptor"} == {
        (names["left"], "left"),
        (names["right"], "right"),
    }


def _objects(bed: Bed, *words: object) -> list[Object]:
    asked = bed.run(*words, "--json")
    assert asked.ended() == 0, asked
    return asked.objects()


def test_a_recording_knows_its_names_where_they_stand_for_other_streams(bed: Bed) -> None:
    record = bed.run("record", bed.folder / "far.mcap", "--streams", "near,far", "--payload", "--json", is_ready=True)
    for name in ("near", "far"):
        bed.rate(name, 100, 50)
    assert record.summary()["frames"] == 100
    elsewhere = bed.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    fixed = {"version": 1, "ids": [10000, 29999], "fixed": ["near", "far"], "names": {"near": 5, "far": 6}}
    (elsewhere / "streams.json").write_text(json.dumps(fixed))
    words = ("join", "near", "far", "--from", bed.folder / "far.mcap", "--out", bed.journal("again"))
    join = bed.run(*words, "--base-dir", elsewhere, "--json")
    assert join.summary()["rows"] == 50


def test_a_name_of_the_drivers_file_is_its_number(own_bed: Bed) -> None:
    file = own_bed.folder / "driver.toml"
    file.write_text(
        '[driver]\nstream_id_range = "10000-29999"\n[policies]\nallow_dynamic_streams = true\n'
        "[profiles.small]\nheader_nslots = 64\npayload_pools = [{ pool_id = 1, stride_bytes = 4096 }]\n"
        '[streams.left]\nstream_id = 77\nprofile = "small"\n'
    )
    own_bed.driver("--config", file)
    consumer = own_bed.run("consume", "--stream", "left", "--count", 20, "--json")
    own_bed.rate("left", 100, 20)
    assert consumer.summary()["frames"] == 20
    assert {each["stream"] for each in consumer.objects() if "seq" in each} == {77}


def test_a_join_that_is_saved_is_the_join_that_runs(bed: Bed) -> None:
    words = ("join", "cam", "lag:-1", "imu~5ms", "gps^?", "--out", bed.journal("saved"))
    saved = bed.run(*words, "--save", bed.folder / "saved.toml")
    assert saved.ended() == 0, saved
    again = bed.run(*words, "--save", bed.folder / "saved.toml")
    assert (again.ended(), "is there already" in again.errors) == (2, True)
    join = bed.join(bed.folder / "saved.toml")
    for name, hz, count in (("cam", 50, 50), ("lag", 50, 50), ("imu", 200, 220)):
        bed.rate(name, hz, count)
    assert 0 < join.summary()["rows"] <= 49
    books = bed.audit("saved", "cam", "lag", "imu")["inputs"]
    assert books["cam"]["joined"] == books["lag"]["joined"] == books["imu"]["joined"] > 0


def test_rules_that_are_none_are_answered_with_those_that_are(bed: Bed) -> None:
    for words in (("left", "right:"), ("left", "left"), ("left", "imu~10"), ("left/2", "imu~10ms")):
        join = bed.run("join", *words, "--out", bed.journal("none"))
        assert join.ended() == 2, join
        assert "WRONG_USAGE" in join.errors, join
    assert not bed.journal("none").exists()


def test_a_name_that_nobody_publishes_is_answered_with_the_one_that_is_like_it(own_bed: Bed) -> None:
    own_bed.driver()
    own_bed.rate("left", 50, 10_000, consumers=0)
    join = own_bed.run("join", "lefft", "--out", own_bed.journal("typo"), "--json", is_ready=True)
    until(lambda: "nothing was seen of it yet" in join.errors, f"a line about the input: {join}")
    assert "did you mean the stream left?" in join.errors
