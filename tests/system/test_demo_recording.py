# SPDX-License-Identifier: Apache-2.0
"""What the demo recorded gives the demo's rows again: from the file, and replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.journal.diff import diff
from framegate.joinbarrier.journal.journal import Journal

from tests.system.conftest import System
from tests.system.join_bed import JoinBed, summary_of


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    return JoinBed(system, shm, slots=64, frame_bytes=1 << 15)


def recorded_demo(bed: JoinBed) -> Path:
    """Run the demo; its recording."""
    file, kept = bed.folder / "demo.mcap", bed.folder / "live"
    words = ("--no-spark", "--shape", "120x160", "--seconds", "1", "--keep", str(kept), "--record", str(file))
    summary = summary_of(bed.system.framegate("demo", "--json", *words))
    assert summary["files"]["recording"] == str(file)
    # Nothing that any of the cameras made was lost to the join, and all of it was recorded.
    assert all(set(each["not_joined"]) <= {"before_first", "no_partner"} for each in summary["cameras"]), summary
    assert summary["rows"] > 50
    return file


def demo_join(bed: JoinBed, name: str) -> Path:
    """The demo's configuration with a journal of its own; it makes its map itself."""
    text = (bed.folder / "live" / "join.toml").read_text()
    text = text.replace(str(bed.folder / "live" / "journal"), str(bed.journal(name))).replace(
        "serve = false", "serve = true"
    )
    config = bed.folder / f"{name}.toml"
    config.write_text(text)
    return config


def assert_is_the_demos(bed: JoinBed, name: str) -> None:
    found = diff(Journal(bed.folder / "live" / "journal"), Journal(bed.journal(name)))
    assert found.is_empty, (name, found.lost[:3], found.gained[:3], found.changed[:3])
    assert found.same > 0


def test_a_join_of_the_demos_recording_gives_the_demos_rows(bed: JoinBed) -> None:
    file = recorded_demo(bed)
    words = ("join", "--config", str(demo_join(bed, "offline")), "--from", str(file), "--json")
    joined = summary_of(bed.system.framegate(*words))
    assert (joined["left_out"], joined["damage"]) == ({}, None)
    assert_is_the_demos(bed, "offline")


@pytest.mark.long
def test_replayed_at_any_speed_the_demos_recording_gives_the_demos_rows(bed: JoinBed) -> None:
    file = recorded_demo(bed)
    bed.start_driver()
    live = str(bed.folder / "live" / "journal")
    for speed in ("1", "4", "max"):
        agent = bed.join(demo_join(bed, speed))
        words = ("--speed", speed, "--wait-consumers", "1", "--end", "--check", live, "--json", *bed.pool.places)
        replayed = summary_of(bed.system.framegate("replay", str(file), *words))
        assert replayed["check"]["is_same"]
        summary_of(agent)
        assert_is_the_demos(bed, speed)
