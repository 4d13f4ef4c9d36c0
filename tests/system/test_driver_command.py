# SPDX-License-Identifier: Apache-2.0
"""``framegate driver`` as a program: what it prints, how it ends, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.driver.mediadriver import MediaDriver

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SECOND_SIGNAL_EXIT = 128 + signal.SIGINT


@pytest.fixture
def directories(shm: Path) -> list[str]:
    """Options that keep everything of a driver in this test's folder."""
    return ["--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool")]


def left_behind(shm: Path) -> list[str]:
    """What a driver that ended must not leave: regions may outlive it, a media driver's directory and log not."""
    return [path.name for path in shm.iterdir() if path.name != "pool"]


def only_child(system: System, program: Program) -> int:
    """The media driver under a ``framegate driver``."""
    children = program.children()
    assert len(children) == 1, program
    return system.adopt(children[0])


def test_ready_with_json_names_the_process_and_its_directories_and_clients_may_connect(
    directories: list[str], shm: Path, system: System
) -> None:
    program = system.framegate("driver", *directories, "--json")
    ready = program.says(event="ready")
    wanted = {"pid": program.pid, "aeron_dir": str(shm / "aeron"), "base_dir": str(shm / "pool")}
    assert wanted.items() <= ready.items()
    assert program.objects()[0] == ready
    assert system.serves(ready["aeron_dir"])


def test_ready_without_json_is_one_line(directories: list[str], shm: Path, system: System) -> None:
    program = system.framegate("driver", *directories)
    line = program.until(lambda: re.match(r"ready (.*)\n", program.stdout), "ready")[1]
    assert f"aeron_dir={shm}/aeron" in line
    assert f"base_dir={shm}/pool" in line
    assert system.serves(str(shm / "aeron"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_success_and_nothing_is_left(
    number: signal.Signals, directories: list[str], shm: Path, system: System
) -> None:
    program = system.framegate("driver", *directories, "--json")
    program.says(event="ready")
    media_driver = only_child(system, program)
    program.send(number)
    assert program.wait() == 0, program
    assert not system.is_alive(media_driver)
    assert left_behind(shm) == []


def test_ctrl_c_in_a_terminal_ends_it_with_success_and_nothing_is_left(
    directories: list[str], shm: Path, system: System
) -> None:
    program = system.framegate("driver", *directories, "--json")
    program.says(event="ready")
    media_driver = only_child(system, program)
    os.killpg(program.pid, signal.SIGINT)
    assert program.wait() == 0, program
    assert not system.is_alive(media_driver)
    assert left_behind(shm) == []


def test_it_serves_a_client_until_the_end_and_a_client_does_not_hold_it_up(
    directories: list[str], shm: Path, system: System
) -> None:
    from framegate.shmpool.transport.aeron import AeronTransport

    program = system.framegate("driver", *directories, "--json")
    program.says(event="ready")
    with AeronTransport(str(shm / "aeron")) as transport:
        transport.add_subscription(system.channel, 77)
        program.send(signal.SIGTERM)
        assert program.wait() == 0, program
    assert left_behind(shm) == []


def test_a_second_signal_ends_it_at_once_while_the_media_driver_is_slow_to_stop(
    directories: list[str], system: System
) -> None:
    """A media driver that is suspended cannot act on its SIGTERM: the first signal's clean end is still waiting."""
    program = system.framegate("driver", *directories, "--json")
    program.says(event="ready")
    media_driver = only_child(system, program)
    system.suspend(media_driver)
    program.send(signal.SIGINT)
    program.until(lambda: has_pending(media_driver, signal.SIGTERM), "stopping its media driver")
    program.send(signal.SIGINT)
    assert program.wait() == SECOND_SIGNAL_EXIT, program
    os.kill(media_driver, signal.SIGCONT)
    system.until_ended(media_driver)


def has_pending(pid: int, number: signal.Signals) -> bool:
    """Whether a signal waits for a process to run again."""
    status = Path(f"/proc/{pid}/status").read_text()
    masks = [int(found, 16) for found in re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)$", status, re.MULTILINE)]
    return any(mask >> (number - 1) & 1 for mask in masks)


@pytest.mark.parametrize("form", ["text", "json"])
def test_its_media_driver_is_killed_and_it_ends_as_an_environment_problem(
    form: str, directories: list[str], shm: Path, system: System
) -> None:
    program = system.framegate("driver", *directories, *(["--json"] if form == "json" else []))
    program.until(lambda: "ready" in program.stdout, "ready")
    media_driver = only_child(system, program)
    os.kill(media_driver, signal.SIGKILL)
    assert program.wait() == 3, program
    if form == "json":
        error = program.objects()[-1]
        assert (error["event"], error["code"], error["name"]) == ("error", 302, "MEDIA_DRIVER_GONE")
        assert "signal 9" in error["message"]
    else:
        first, second = program.stderr.splitlines()
        assert first.startswith("[FG-302 MEDIA_DRIVER_GONE]")
        assert "signal 9" in first
        assert "framegate driver" in second
    assert not system.is_alive(media_driver)
    assert left_behind(shm) == []


def test_the_media_driver_that_it_joined_dies_and_it_ends_as_an_environment_problem(
    directories: list[str], shm: Path, system: System, tmp_path: Path
) -> None:
    config = tmp_path / "driver.toml"
    config.write_text("[media_driver]\ndriver_timeout_ms = 3000\n")
    with MediaDriver(aeron_dir=str(shm / "aeron")) as media_driver:
        program = system.framegate("driver", *directories, "--config", str(config), "--json")
        program.says(event="ready")
        media_driver.kill()
        assert program.wait() == 3, program
        assert program.objects()[-1]["code"] == 302


def test_a_wrong_key_in_the_file_is_wrong_usage_and_names_file_and_line(
    directories: list[str], shm: Path, system: System, tmp_path: Path
) -> None:
    config = tmp_path / "driver.toml"
    config.write_text("[shm]\n\nbase_dirr = '/nowhere'\n")
    program = system.framegate("driver", *directories, "--config", str(config))
    assert program.wait() == 2, program
    assert program.stderr.startswith("[FG-901 UNKNOWN_KEY]")
    assert f"file={config} line=3 " in program.stderr.splitlines()[0]
    assert program.stdout == ""
    as_json = system.framegate("driver", *directories, "--config", str(config), "--json")
    assert as_json.wait() == 2, as_json
    assert as_json.says(event="error")["code"] == 901
    assert list(shm.iterdir()) == []


def test_the_environment_names_file_and_directory(shm: Path, system: System, tmp_path: Path) -> None:
    config = tmp_path / "driver.toml"
    config.write_text(f"[driver]\naeron_dir = '{shm}/of_the_file'\n[shm]\nbase_dir = '{shm}/pool'\n")
    named = system.framegate("driver", "--json", FRAMEGATE_CONFIG=str(config))
    ready = named.says(event="ready")
    assert (ready["aeron_dir"], ready["base_dir"]) == (f"{shm}/of_the_file", f"{shm}/pool")
    environment = {"FRAMEGATE_CONFIG": str(config), "FRAMEGATE_AERON_DIR": f"{shm}/of_the_environment"}
    environment["FRAMEGATE_BASE_DIR"] = f"{shm}/other_pool"
    overridden = system.framegate("driver", "--json", **environment)
    ready = overridden.says(event="ready")
    assert (ready["aeron_dir"], ready["base_dir"]) == (f"{shm}/of_the_environment", f"{shm}/other_pool")
    assert system.serves(f"{shm}/of_the_file")
    assert system.serves(f"{shm}/of_the_environment")


def test_the_command_line_beats_the_environment(directories: list[str], shm: Path, system: System) -> None:
    environment = {"FRAMEGATE_AERON_DIR": f"{shm}/not_this", "FRAMEGATE_BASE_DIR": f"{shm}/nor_this"}
    ready = system.framegate("driver", *directories, "--json", **environment).says(event="ready")
    assert (ready["aeron_dir"], ready["base_dir"]) == (f"{shm}/aeron", f"{shm}/pool")


def test_a_media_driver_that_cannot_start_is_an_environment_problem(
    directories: list[str], shm: Path, system: System
) -> None:
    program = system.framegate("driver", *directories, "--json", FRAMEGATE_MEDIA_DRIVER="/nowhere/at/all")
    assert program.wait() == 3, program
    error = json.loads(program.stdout)
    assert (error["event"], error["code"], error["name"]) == ("error", 303, "MEDIA_DRIVER_FAILED")
    assert "FRAMEGATE_MEDIA_DRIVER" in error["hint"]
    assert left_behind(shm) == []


def test_a_directory_that_cannot_be_made_is_an_environment_problem(shm: Path, system: System) -> None:
    (shm / "file").touch()
    program = system.framegate("driver", "--aeron-dir", str(shm / "file" / "aeron"), "--json")
    assert program.wait() == 3, program
    assert program.objects()[-1]["code"] in (303, 922)
