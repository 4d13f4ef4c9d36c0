# SPDX-License-Identifier: Apache-2.0
"""``framegate demo`` as a program: right sums and pictures, and nothing left behind however it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.gate.run_folder import READER
from framegate.joinbarrier.journal.doorbell import bell_name
from framegate.shmpool.processes import family, process_exists
from framegate.tools.demo.cleaner import QUERY
from framegate.tools.demo.plan import LAG

from tests.system.journal_table import read_rows

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SMALL = ("--shape", "120x160", "--no-spark")


class Traces:
    """What a demo said of where it is, and whether that is gone."""

    def __init__(self, demo: Program, system: System) -> None:
        self._system = system
        ready = demo.says(event="ready")
        self.home, self.journal = Path(ready["home"]), Path(ready["journal"])
        self.pids: dict[str, int] = ready["processes"]
        self.family = set(family(demo.pid)) - {demo.pid}
        """Its cameras, the lease driver, what tidies up, and the media driver where it has its own."""
        assert len(self.family) >= len(self.pids) + 2
        assert self.home.is_dir()

    def are_gone(self) -> bool:
        bells = [f"sem.{bell_name(self.journal, reader).lstrip('/')}" for reader in (READER, QUERY)]
        is_left = self.home.exists() or any((self.home.parent / bell).exists() for bell in bells)
        return not is_left and not any(map(process_exists, self.family))

    def end(self) -> None:
        """After a failure."""
        for pid in self.family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where `--keep` may keep."""
    return tmp_path / "kept"


@pytest.fixture
def traces(system: System) -> Iterator[list[Traces]]:
    found = list[Traces]()
    yield found
    for each in found:
        each.end()


def running(system: System, traces: list[Traces], *words: str, **environment: str) -> tuple[Program, Traces]:
    """A demo whose cameras have begun."""
    demo = system.framegate("demo", "--json", *words, **environment)
    traces.append(Traces(demo, system))
    return demo, traces[-1]


def until_rows(demo: Program, rows: int) -> None:
    demo.until(lambda: [each for each in demo.objects() if each.get("rows", 0) >= rows], f"at {rows} rows")


def has_ended(pid: int) -> bool:
    """Whether a process runs no more; its parent may not have asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


def right_summary(demo: Program, *, inputs: int = 3) -> dict[str, Any]:
    """Its summary, whose sums are right: each frame of each camera is in a row or has a cause."""
    assert demo.wait() == 0, demo
    summary = demo.objects()[-1]
    assert summary["event"] == "summary", demo
    assert summary["rows"] > 0
    assert summary["motion"]["recovered_sets"] == summary["rows"]
    assert summary["unexplained"] == 0
    assert len(summary["cameras"]) == inputs
    for camera in summary["cameras"]:
        assert camera["frames"] == summary["rows"] + sum(camera["not_joined"].values()), camera
    return summary


def test_three_seconds_without_spark_are_right_and_leave_only_the_pictures(
    system: System, traces: list[Traces]
) -> None:
    demo, traced = running(system, traces, "--no-spark", "--seconds", "3")
    summary = right_summary(demo)
    assert traced.are_gone()
    assert [camera["frames"] for camera in summary["cameras"]] == [300] * 3
    # Frames of two moments would differ by the edges of the discs as well.
    assert summary["mean_difference"] < 8
    late = summary["cameras"][-1]
    assert late["not_joined"]["before_first"] == LAG
    assert all(summary[lag]["p50"] > 0 for lag in ("join_lag_ms", "result_lag_ms"))
    (pictures,) = summary["files"].values()
    assert Path(pictures).read_bytes().startswith(b"\x89PNG")
    progress = [each for each in demo.objects() if each["event"] == "progress"]
    assert progress[-1]["rows"] == progress[-1]["computed"] == summary["rows"]
    assert demo.stderr == ""


def test_without_java_it_says_so_computes_in_python_and_keeps_what_it_is_told_to(system: System, folder: Path) -> None:
    words = ("--shape", "120x160", "--seconds", "1", "--inputs", "2", "--keep", str(folder))
    demo = system.framegate("demo", *words, JAVA_HOME="/nowhere")
    assert demo.wait() == 0, demo
    first, second, third = demo.stderr.splitlines()
    assert first.startswith("[FG-712 JAVA_MISSING]")
    assert "JAVA_HOME" in second
    assert "--no-spark" in third
    rows = read_rows(folder / "journal")
    assert f"joined     {len(rows)} sets of 2 frames" in demo.stdout
    assert all(row.inputs["camera2"].seq == (row.inputs["camera1"].seq or 0) + LAG for row in rows)
    assert (folder / "contact-sheet.png").read_bytes().startswith(b"\x89PNG")
    names = {"camera1.csv", "camera1.log", "camera2.csv", "camera2.log", "demo.log"}
    assert {path.name for path in (folder / "logs").iterdir()} == names
    again = system.framegate("demo", *words)
    assert again.wait() == 2, again
    assert "FG-907" in again.stderr


def test_a_camera_that_is_killed_is_named_and_nothing_is_left(system: System, traces: list[Traces]) -> None:
    demo, traced = running(system, traces, *SMALL, "--seconds", "60")
    until_rows(demo, 50)
    os.kill(traced.pids["camera2"], signal.SIGKILL)
    assert demo.wait() == 1, demo
    error = demo.objects()[-1]
    assert (error["event"], error["code"], error["facts"]["process"]) == ("error", 930, "camera2")
    assert "camera2 was killed by SIGKILL" in error["message"]
    assert traced.are_gone()


def test_a_machine_without_room_for_it_is_told_how_much_it_takes(system: System) -> None:
    demo = system.framegate("demo", "--no-spark", "--shape", "30000x30000")
    assert demo.wait() == 3, demo
    assert demo.stderr.startswith("[FG-921 NO_ROOM]")
    assert "want_mib=" in demo.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", ["camera1", "camera3", "recorder"])
def test_whichever_is_killed_is_named_and_nothing_is_left(
    system: System, traces: list[Traces], name: str, tmp_path: Path
) -> None:
    words = ("--seconds", "60", "--record", str(tmp_path / "cameras.mcap"))
    demo, traced = running(system, traces, *SMALL, *words)
    until_rows(demo, 20)
    os.kill(traced.pids[name], signal.SIGKILL)
    assert demo.wait() == 1, demo
    assert demo.objects()[-1]["facts"]["process"] == name, demo
    assert traced.are_gone()


@pytest.mark.long
def test_ctrl_c_ends_it_with_right_sums(system: System, traces: list[Traces]) -> None:
    demo, traced = running(system, traces, *SMALL, "--seconds", "60")
    until_rows(demo, 50)
    demo.send(signal.SIGINT)
    summary = right_summary(demo)
    assert summary["frames"] < 3 * 60 * 100
    assert traced.are_gone()


@pytest.mark.long
@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGKILL,)], ids=str)
def test_after_an_end_without_farewell_everything_goes(
    system: System, traces: list[Traces], numbers: tuple[signal.Signals, ...]
) -> None:
    demo, traced = running(system, traces, *SMALL, "--seconds", "60")
    until_rows(demo, 20)
    # It waits for its cameras, so that it does not end by itself between two signals.
    system.suspend(traced.pids["camera1"])
    for number in numbers[:-1]:
        # Two that are pending together are one: the next is sent when this one was heeded.
        demo.send(number)
        demo.until(lambda: has_ended(traced.pids["camera2"]), "ending its cameras")
    demo.send(numbers[-1])
    assert demo.wait() != 0
    system.until(traced.are_gone, "tidied up")


@pytest.mark.long
def test_it_joins_the_media_driver_that_it_is_given(
    media_driver: MediaDriver, system: System, traces: list[Traces]
) -> None:
    words = ("--aeron-dir", media_driver.aeron_dir, "--seconds", "1")
    demo, traced = running(system, traces, *SMALL, *words)
    right_summary(demo)
    assert media_driver.is_running
    assert system.serves(media_driver.aeron_dir)
    assert traced.are_gone()
