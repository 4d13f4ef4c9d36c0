# SPDX-License-Identifier: Apache-2.0
"""Journals, checkpoints, recordings and configurations that older trees wrote open unchanged.

`tests/vectors/written_before.tar.xz` holds what commit 0403d97 wrote: `live` is a join that ended, `live.mcap` its
recording, `replayed` the join of that; `killed` is a join that was killed behind checkpoint 1 of `checkpoints`, while
six frames of `right` waited. The logs of what was sent lie beside them, and `examples` has the configurations that
shipped and were tested.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import ENVIRONMENT, Bed, apart
from tests.outside.rows import read_rows, seqs

WRITTEN = Path(__file__).parents[1] / "vectors" / "written_before.tar.xz"
KEPT = [
    *("a31_lockstep_cameras", "a32_fixed_offset", "a33_sliding_window", "a34_diamond", "a41_pipeline_clock"),
    *("a42_camera_imu", "a43_sensor_fusion", "a44_event_time_window", "a45_audio_video", "a46_batch_to_stream"),
    *("a51_fast_data_slow_config", "a52_telemetry_overlay", "a53_most_recent"),
    *("lockstep", "camera-imu", "fast-slow"),
]
ROWS = [(seq, seq - 2) for seq in range(2, 40)]


@pytest.fixture
def before() -> Iterator[Bed]:
    """A bed in whose folder the old files lie. There is no driver."""
    with Bed() as bed, tarfile.open(WRITTEN) as archive:
        archive.extractall(bed.folder, filter="data")
        yield bed


@pytest.mark.parametrize("name", ["live", "killed", "replayed"])
def test_an_old_journal_is_read_verified_and_audited(before: Bed, name: str) -> None:
    verified = before.run("journal", "verify", name)
    assert verified.ended() == 0, verified
    assert f"rows={len(read_rows(before.journal(name)))} " in verified.text
    sent = {"killed": (10_011, 10_012)}.get(name, (10_001, 10_002))
    logs = [word for stream in sent for word in ("--sent", f"sent-{stream}-0.csv")]
    books = before.run("audit", name, *logs)
    assert books.ended() == 0, books
    against = before.run("audit", name, "--recording", "live.mcap")
    assert name == "killed" or against.ended() == 0, against


def test_an_old_recording_is_joined_to_the_rows_of_the_run_that_it_recorded(before: Bed) -> None:
    config = (before.folder / "live.toml").read_text().replace('"live"', '"again"')
    (before.folder / "again.toml").write_text(config)
    join = before.run("join", "--config", "again.toml", "--from", "live.mcap", "--json")
    join.summary()
    assert seqs(before.journal("again"), "left", "right")[:38] == ROWS
    for other in ("live", "replayed"):
        assert before.run("journal", "diff", "again", other).ended() == 0
    shown = before.run("inspect", "live.mcap")
    assert shown.ended() == 0


def test_an_old_recordings_join_goes_on_from_its_checkpoint(before: Bed) -> None:
    words = ("--checkpoints", "recording-checkpoints", "--restore", 60, "--json")
    join = before.run("join", "--config", "replayed.toml", "--from", "live.mcap", *words)
    join.summary()
    assert seqs(before.journal("replayed"), "left", "right")[:38] == ROWS
    assert before.run("journal", "diff", "replayed", "live").ended() == 0


def test_an_old_checkpoint_is_verified_and_restored(before: Bed) -> None:
    assert before.run("checkpoint", "verify", "checkpoints").ended() == 0
    before.driver("--config", "driver.toml")
    words = ("--restore", "latest", "--checkpoints", "checkpoints")
    join = before.join(before.folder / "killed.toml", *words)
    for stream in (10_011, 10_012):
        before.rate(stream, 500, 50, "4x4")
    found = join.summary()
    assert found["restored_from"] == 1
    assert found["restored_frames"] > 0
    assert seqs(before.journal("killed"), "left", "right")[:18] == ROWS[:18]
    assert before.run("journal", "verify", "killed").ended() == 0


def test_an_old_journal_is_gone_on_with(before: Bed) -> None:
    before.driver()
    join = before.join(before.folder / "live.toml")
    before.rate(10_001, 500, 50, "4x4").summary()
    apart(1)
    before.rate(10_002, 500, 50, "4x4")
    join.summary()
    rows = read_rows(before.journal("live"))
    assert [row["row"] for row in rows] == list(range(len(rows)))
    assert len(rows) > 39
    assert before.run("journal", "verify", "live").ended() == 0


def test_old_configurations_are_understood(before: Bed) -> None:
    # Of a configuration that is wrong a join would say so first; here nothing is missing but a driver.
    joins = [
        before.run("join", "--config", before.folder / "examples" / f"{name}.toml", "--wait-driver", 0, "--json")
        for name in KEPT
    ]
    for join in joins:
        assert join.ended() == ENVIRONMENT, join
