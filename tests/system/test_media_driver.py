# SPDX-License-Identifier: Apache-2.0
"""The bundled media driver as a child: it starts, serves, and ends with whoever started it, however that happens."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.driver.mediadriver import PROGRAM, MediaDriver, MediaDriverOptions, find_program, is_live
from framegate.schema.errors import DriverDirectoryInUse, ForeignFiles, MediaDriverFailed

from framegate._native import driver_mark

if TYPE_CHECKING:
    from tests.system.conftest import System


def test_started_it_serves_and_stopped_it_leaves_nothing(aeron_dir: str, shm: Path, system: System) -> None:
    with MediaDriver(aeron_dir=aeron_dir) as driver:
        mark = driver_mark(aeron_dir)
        assert mark is not None
        assert mark[1] == driver.pid
        assert (driver.is_running, driver.exit_status, is_live(aeron_dir)) == (True, None, True)
        assert system.serves(aeron_dir)
    assert (driver.is_running, driver.exit_status, is_live(aeron_dir)) == (False, 0, False)
    assert list(shm.iterdir()) == []


def test_stopped_twice_or_never_started_is_no_error(aeron_dir: str) -> None:
    driver = MediaDriver(aeron_dir=aeron_dir)
    driver.stop()
    assert (driver.pid, driver.exit_status, driver.is_running) == (0, None, False)
    driver.start()
    driver.stop()
    driver.stop()
    assert driver.exit_status == 0


def test_the_same_object_starts_again_after_its_stop(aeron_dir: str, system: System) -> None:
    driver = MediaDriver(aeron_dir=aeron_dir)
    for _ in range(2):
        with driver:
            assert system.serves(aeron_dir)


def test_a_second_start_in_a_live_directory_is_refused_and_harms_nobody(
    media_driver: MediaDriver, system: System
) -> None:
    with pytest.raises(DriverDirectoryInUse) as caught:
        MediaDriver(aeron_dir=media_driver.aeron_dir).start()
    assert caught.value.facts["aeron_dir"] == media_driver.aeron_dir
    assert media_driver.is_running
    assert system.serves(media_driver.aeron_dir)


def test_framegate_driver_joins_a_live_one_and_leaves_it_alive(media_driver: MediaDriver, system: System) -> None:
    program = system.framegate("driver", "--aeron-dir", media_driver.aeron_dir, "--json")
    assert program.says(event="ready")["aeron_dir"] == media_driver.aeron_dir
    assert program.children() == []
    program.send(signal.SIGINT)
    assert program.wait() == 0
    assert media_driver.is_running
    assert system.serves(media_driver.aeron_dir)


def test_what_a_killed_one_left_is_replaced_by_the_next_start(aeron_dir: str, system: System) -> None:
    killed = MediaDriver(aeron_dir=aeron_dir).start()
    killed.kill()
    assert killed.exit_status == -signal.SIGKILL
    assert (Path(aeron_dir) / "cnc.dat").exists()
    with MediaDriver(aeron_dir=aeron_dir) as driver:
        assert driver.pid != killed.pid
        assert system.serves(aeron_dir)


def test_killed_then_stopped_it_leaves_nothing(aeron_dir: str, shm: Path) -> None:
    driver = MediaDriver(aeron_dir=aeron_dir).start()
    os.kill(driver.pid, signal.SIGKILL)
    driver.stop()
    assert driver.exit_status == -signal.SIGKILL
    assert list(shm.iterdir()) == []


def test_one_that_does_not_end_when_told_is_ended_by_force(aeron_dir: str, shm: Path, system: System) -> None:
    driver = MediaDriver(aeron_dir=aeron_dir).start()
    system.suspend(driver.pid)
    driver.stop(timeout_s=0.1)
    assert driver.exit_status == -signal.SIGKILL
    assert list(shm.iterdir()) == []


@pytest.mark.parametrize("name", ["thesis.tex", "publications/thesis.tex", "images/old", "cnc.dat.bak"])
def test_a_directory_with_somebody_elses_files_is_refused_by_name_and_stays_as_it_is(
    name: str, tmp_path: Path, system: System
) -> None:
    folder = tmp_path / "mine"
    (folder / "publications").mkdir(parents=True)
    (folder / "images").mkdir()
    (folder / name).write_text("ten years of work")
    (folder / "cnc.dat").write_bytes(bytes(8192))
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    driver = system.framegate("driver", "--aeron-dir", str(folder), "--json")
    error = driver.says(event="error")
    assert driver.wait() == 3
    assert (error["code"], error["name"]) == (312, "FOREIGN_FILES")
    assert str(folder / name) in error["message"]
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before
    assert (folder / name).read_text() == "ten years of work"


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_a_file_that_comes_while_it_serves_outlives_it(end: str, aeron_dir: str) -> None:
    note = Path(aeron_dir) / "publications" / "note.txt"
    driver = MediaDriver(aeron_dir=aeron_dir).start()
    note.write_text("kept")
    if end == "killed":
        os.kill(driver.pid, signal.SIGKILL)
    driver.stop()
    assert note.read_text() == "kept"
    with pytest.raises(ForeignFiles, match=r"note\.txt"):
        driver.start()
    if end == "stopped":
        assert [path.name for path in sorted(Path(aeron_dir).rglob("*"))] == ["publications", "note.txt"]


@pytest.mark.parametrize("end", ["killed", "returned"])
def test_its_parent_ends_without_stopping_it_and_it_ends_too(end: str, aeron_dir: str, system: System) -> None:
    parent = system.own_program("parent", aeron_dir)
    pid = system.adopt(parent.says(event="ready")["media_driver"])
    assert system.is_alive(pid)
    if end == "killed":
        parent.send(signal.SIGKILL)
        assert parent.wait() == -signal.SIGKILL
    else:
        parent.tell("return")
        assert parent.wait() == 0, parent
    system.until_ended(pid)
    assert not Path(aeron_dir).exists()


def test_its_parent_is_killed_and_it_ends_although_a_forked_child_of_the_parent_lives_on(
    aeron_dir: str, system: System
) -> None:
    """The fork holds everything open that its parent did, the other end of the media driver's pipe too."""
    parent = system.own_program("parent", aeron_dir, "fork")
    ready = parent.says(event="ready")
    media_driver, forked = system.adopt(ready["media_driver"]), system.adopt(ready["forked"])
    parent.send(signal.SIGKILL)
    system.until_ended(media_driver)
    assert system.is_alive(forked)
    assert not Path(aeron_dir).exists()


def test_ctrl_c_in_its_parents_terminal_does_not_reach_it(aeron_dir: str, system: System) -> None:
    parent = system.own_program("parent", aeron_dir)
    pid = system.adopt(parent.says(event="ready")["media_driver"])
    assert os.getsid(pid) == pid
    os.killpg(parent.pid, signal.SIGINT)
    assert system.serves(aeron_dir)
    assert system.is_alive(pid)


def started(aeron_dir: str, log_file: Path, **options: Any) -> MediaDriver:
    return MediaDriver(aeron_dir=aeron_dir, log_file=log_file, options=MediaDriverOptions(**options)).start()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"threading": "several"}, '--threading is shared, shared_network or dedicated, not "several"'),
        ({"idle": "lazy"}, '--idle is busy, yield, backoff or sleep, not "lazy"'),
        ({"term_buffer_bytes": -1}, '--term-buffer-bytes takes a whole number, not "-1"'),
        ({"term_buffer_bytes": 65_537}, "Invalid argument"),
    ],
)
def test_an_option_it_does_not_take_is_an_error_with_the_reason_from_its_log(
    options: dict[str, object], reason: str, aeron_dir: str, shm: Path
) -> None:
    with pytest.raises(MediaDriverFailed) as caught:
        started(aeron_dir, shm / "driver.log", **options)
    assert caught.value.message.startswith(f"{PROGRAM}: ")
    assert reason in caught.value.message
    assert (caught.value.facts["exit_status"], caught.value.facts["log"]) == (1, shm / "driver.log")
    assert not Path(aeron_dir).exists()


def test_a_directory_that_cannot_be_made_is_an_error_with_the_reason_from_its_log(shm: Path) -> None:
    (shm / "file").touch()
    with pytest.raises(MediaDriverFailed, match="Not a directory") as caught:
        started(str(shm / "file" / "aeron"), shm / "driver.log")
    assert caught.value.facts["exit_status"] == 1


@pytest.mark.parametrize("named", ["nowhere", "not_executable"])
def test_a_program_that_is_not_there_is_an_error_that_says_where_to_name_it(
    named: str, aeron_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "not_executable").touch(0o600)
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", str(tmp_path / named))
    with pytest.raises(MediaDriverFailed) as caught:
        MediaDriver(aeron_dir=aeron_dir).start()
    assert "FRAMEGATE_MEDIA_DRIVER" in caught.value.hint


def test_a_program_that_is_no_media_driver_is_an_error_with_what_it_said(
    aeron_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "impostor"
    program.write_text("#!/bin/sh\necho 'no such library' >&2\nexit 127\n")
    program.chmod(0o700)
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", str(program))
    driver = MediaDriver(aeron_dir=aeron_dir)
    with pytest.raises(MediaDriverFailed, match="no such library"):
        driver.start()
    assert not driver.is_running


def test_a_program_that_never_becomes_ready_is_ended_and_the_error_says_how_long_it_was_given(
    aeron_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sleeper"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o700)
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", str(program))
    driver = MediaDriver(aeron_dir=aeron_dir)
    with pytest.raises(MediaDriverFailed, match=r"not ready within 0\.2 s"):
        driver.start(timeout_s=0.2)
    assert driver.exit_status == -signal.SIGKILL


def test_the_program_is_looked_for_in_the_variable_then_the_folders_in_order_then_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = [tmp_path / name / PROGRAM for name in ("variable", "first", "second", "path")]
    for program in programs:
        program.parent.mkdir()
        program.touch(0o700)
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", str(programs[0]))
    monkeypatch.setenv("PATH", str(programs[3].parent))
    places = [programs[1].parent, programs[2].parent]
    assert find_program(places) == programs[0]
    monkeypatch.delenv("FRAMEGATE_MEDIA_DRIVER")
    assert find_program(places) == programs[1]
    programs[1].chmod(0o600)
    assert find_program(places) == programs[2]
    programs[2].unlink()
    assert find_program(places) == programs[3]
    programs[3].unlink()
    assert find_program(places) is None


def test_a_variable_that_names_nothing_hides_the_installed_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", "/nowhere/at/all")
    assert find_program() is None
    monkeypatch.setenv("FRAMEGATE_MEDIA_DRIVER", "")
    assert find_program() is not None


@pytest.mark.parametrize(
    ("threading", "idle"),
    [
        ("dedicated", "backoff"),
        ("dedicated", "sleep"),
        ("shared_network", "backoff"),
        ("shared", "busy"),
        ("shared", "yield"),
        ("shared", "sleep"),
    ],
)
def test_every_way_of_running_serves(threading: str, idle: str, aeron_dir: str, shm: Path, system: System) -> None:
    driver = started(aeron_dir, shm / "driver.log", threading=threading, idle=idle)
    try:
        assert system.serves(aeron_dir)
    finally:
        driver.stop()
    assert driver.exit_status == 0


def test_clients_may_be_given_longer_than_a_publication_is(aeron_dir: str, shm: Path, system: System) -> None:
    """Aeron frees a publication that stands for 15 s, and takes no longer patience with clients than with those."""
    driver = started(aeron_dir, shm / "driver.log", client_liveness_timeout_ms=60_000)
    try:
        assert system.serves(aeron_dir)
    finally:
        driver.stop()
    assert driver.exit_status == 0
