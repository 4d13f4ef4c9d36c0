# SPDX-License-Identifier: Apache-2.0
"""Commands whose driver, coordinator or directory is not there, or somebody else's, say so and end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.outside.bed import ENVIRONMENT, FRAMEGATE, Bed, Process, apart, until

FAILED = 1
LONG_S = 3600
NOBODY = 65534
WITHOUT_RIGHTS = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]
"""Root without what lets it read the files of others: such a user like any other."""

Words = list[str]


@pytest.mark.parametrize(
    "words",
    [
        ["consume", "--stream", "10001"],
        ["produce", "--stream", "10001", "--rate", "1"],
        ["record", "out.mcap", "--streams", "10001"],
        ["mergemap", "show"],
        ["checkpoint", "trigger"],
    ],
    ids=lambda words: str(words[0]),
)
def test_ctrl_c_ends_the_wait_for_a_driver(own_bed: Bed, words: Words) -> None:
    waiting = own_bed.run(*words, "--wait-driver", LONG_S)
    apart(1.5)
    assert not waiting.has_ended
    waiting.send(signal.SIGINT)
    assert waiting.ended() == FAILED
    assert "ended by the user" in waiting.text


def test_ctrl_c_ends_the_wait_of_a_join_for_its_driver(own_bed: Bed) -> None:
    waiting = own_bed.join(own_bed.lockstep("early", own_bed.streams()), "--wait-driver", LONG_S, is_ready=False)
    until(own_bed.journal("early").is_dir, "a journal's folder")
    apart(1.0)
    waiting.send(signal.SIGINT)
    assert waiting.ended() == FAILED
    assert waiting.says(event="error")["name"] == "INTERRUPTED"


def test_a_trigger_that_nobody_answers_does_not_say_that_a_checkpoint_goes_on(bed: Bed) -> None:
    asking = bed.run("checkpoint", "trigger", "--timeout", LONG_S, "--json")
    apart(4)
    asking.send(signal.SIGINT)
    assert asking.ended() == FAILED
    assert "goes on" not in asking.text
    assert "nobody answered" in asking.text


def test_a_token_file_that_is_missing_is_named(own_bed: Bed) -> None:
    own_bed.driver()
    config = own_bed.lockstep("served", own_bed.streams())
    missing = own_bed.folder / "no-such-token"
    served = own_bed.join(config, "--flight", "grpc://127.0.0.1:0", "--flight-token-file", missing, is_ready=False)
    assert served.ended() != 0
    error = served.says(event="error")
    assert error["facts"]["path"] == str(missing)
    assert "port" not in error["hint"]


def test_a_variable_that_nothing_reads_is_named_with_the_nearest(own_bed: Bed) -> None:
    own_bed.environment["FRAMEGATE_BASE_DRI"] = "/nowhere"
    own_bed.environment["FRAMEGATE_JOIN_OUTPUST"] = "3"
    own_bed.environment["FRAMEGATE_JOURNAL_MAX_BYTES"] = "8MiB"
    listed = own_bed.run("journal", "ls", own_bed.folder / "none")
    listed.ended()
    warned = [line for line in listed.errors.splitlines() if line.startswith("warning:")]
    assert len(warned) == 2
    assert "FRAMEGATE_BASE_DRI " in warned[0]
    assert warned[0].endswith("FRAMEGATE_BASE_DIR")
    assert warned[1].endswith("FRAMEGATE_JOIN_OUTPUTS")


@contextmanager
def of_somebody_else(driver: Process | None, *paths: Path) -> Iterator[None]:
    """Directories that belong to another user; skips where this one cannot give anything away.

    The driver in them stands still meanwhile: it would leave directories that are not its user's.
    """
    if os.geteuid() != 0 or subprocess.run([*WITHOUT_RIGHTS, "true"], check=False).returncode:
        pytest.skip("only root can give files away")
    if driver is not None:
        driver.stop()
    for path in paths:
        for each in (path, *path.rglob("*")):
            os.chown(each, NOBODY, NOBODY)
    try:
        yield
    finally:
        for path in paths:
            for each in (path, *path.rglob("*")):
                os.chown(each, 0, 0)
        if driver is not None:
            driver.go_on()


def as_other(bed: Bed, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WITHOUT_RIGHTS, FRAMEGATE, *map(str, words)],
        env=bed.environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_another_users_driver_is_told_from_none(own_bed: Bed) -> None:
    driver = own_bed.driver()
    with of_somebody_else(driver, own_bed.folder / "aeron"):
        ran = as_other(own_bed, "consume", "--stream", 10001, "--wait-driver", LONG_S)
    assert ran.returncode == ENVIRONMENT
    assert "NO_PERMISSION" in ran.stderr
    assert str(own_bed.folder / "aeron") in ran.stderr
    assert "belongs to nobody" in ran.stderr


def test_directories_of_another_user_that_are_named_on_the_command_line_are_no_wrong_usage(own_bed: Bed) -> None:
    driver = own_bed.driver()
    places = ["--aeron-dir", own_bed.folder / "aeron", "--base-dir", own_bed.folder / "pool"]
    with of_somebody_else(driver, own_bed.folder / "aeron", own_bed.folder / "pool"):
        ran = as_other(own_bed, "consume", "--stream", 10001, "--wait-driver", LONG_S, *places)
        looked = as_other(own_bed, "doctor", *places)
    assert (ran.returncode, looked.returncode) == (ENVIRONMENT, ENVIRONMENT)
    assert "belongs to nobody" in ran.stderr
    assert str(own_bed.folder / "pool") in looked.stdout


def test_doctor_says_whether_a_lease_driver_runs(own_bed: Bed) -> None:
    def found() -> dict[str, str]:
        doctor = own_bed.run("doctor", "--json")
        doctor.ended()
        findings = doctor.says(event="doctor")["findings"]
        return next(each for each in findings if each["name"] == "lease driver")

    assert "none" in found()["found"]
    driver = own_bed.driver()
    assert found()["status"] == "ok"
    assert f"process {driver.pid}" in found()["found"]
    driver.kill()
    gone = found()
    assert gone["status"] == "warn"
    assert str(driver.pid) in gone["found"]


def test_doctor_fails_for_a_base_directory_that_cannot_be_read(own_bed: Bed) -> None:
    locked = own_bed.folder / "locked"
    locked.mkdir(mode=0o700)
    own_bed.environment["FRAMEGATE_BASE_DIR"] = str(locked / "pool")
    with of_somebody_else(None, locked):
        ran = as_other(own_bed, "doctor")
    assert ran.returncode == ENVIRONMENT
    assert str(locked) in ran.stdout


def test_doctor_fails_where_there_is_no_room_for_a_stream_beside_the_media_driver(own_bed: Bed) -> None:
    small = own_bed.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "none", small], check=False).returncode:
        pytest.skip("mounting a file system is not allowed here")
    try:
        own_bed.environment["FRAMEGATE_BASE_DIR"] = str(small / "pool")
        own_bed.environment["FRAMEGATE_AERON_DIR"] = str(small / "aeron")
        assert own_bed.run("doctor").ended() == ENVIRONMENT
        own_bed.driver()
        # It is right: this is what happens there.
        refused = own_bed.python("import framegate as fg\nwith fg.connect() as client:\n    client.producer(10001)\n")
        assert refused.ended() != 0
        assert "NO_ROOM" in refused.text
        for words in (["produce"], ["produce", "--json"]):
            told = own_bed.run(*words, "--stream", 10_001, "--rate", 10, "--shape", "2000x2000")
            assert told.ended() == ENVIRONMENT, told
            assert "NO_ROOM_FOR_RING" in told.text
        own_bed.end_from(0)
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
