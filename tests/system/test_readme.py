# SPDX-License-Identifier: Apache-2.0
"""The programs of the README and of docs/processes.md give what they say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PROCESSES = (ROOT / "docs" / "processes.md").read_text()


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """What a shell beside a running ``framegate driver`` has, in directories of the test's own."""
    home = tempfile.mkdtemp(prefix="framegate-readme-", dir="/dev/shm")
    environment = {**os.environ, "FRAMEGATE_AERON_DIR": f"{home}/aeron", "FRAMEGATE_BASE_DIR": f"{home}/pool"}
    driver = subprocess.Popen(
        [sys.executable, "-m", "framegate", "driver"], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline().startswith("ready")
        yield environment
    finally:
        driver.send_signal(signal.SIGINT)
        driver.communicate()
        shutil.rmtree(home, ignore_errors=True)


def test_the_example_hands_a_hundred_frames_from_producer_to_consumer(environment: dict[str, str]) -> None:
    example = re.search(r"```python\n(.*?)```", PROCESSES, re.DOTALL)
    assert example is not None

    ran = subprocess.run(
        [sys.executable, "-c", example[1]], env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["100", "frames,", "from", "0", "to", "99", "0"]


def test_the_join_verifies_and_its_rows_are_read(environment: dict[str, str], tmp_path: Path) -> None:
    section = PROCESSES.partition("## A join")[2]
    commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    reading = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert commands is not None
    assert reading is not None
    shell = {**environment, "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}"}

    joined = subprocess.run(
        ["bash", "-ec", commands[1]],
        env=shell,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    read = subprocess.run(
        [sys.executable, "-c", reading[1]],
        env=shell,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert joined.returncode == 0, joined.stderr
    found = re.fullmatch(r"rows=(\d+) batches=\d+ segments=\d+", joined.stdout.splitlines()[-1])
    assert found is not None, joined.stdout
    assert int(found[1]) > 0
    assert read.returncode == 0, read.stderr
    rows = [line.split() for line in read.stdout.splitlines()[:3]]
    assert [len(row) for row in rows] == [4, 4, 4]


def test_the_program_joins_two_cameras_and_an_imu(environment: dict[str, str]) -> None:
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert program is not None

    ran = subprocess.run(
        [sys.executable, "-c", program[1]], env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    end = lines.index("58 rows; not joined:")
    for line in lines[:end]:
        left, right = (float(word) for word in line.split()[:2])
        assert left == right + 2
    assert end == 58
    assert "left: 2 frames, no_partner" in ran.stdout


def test_its_make_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)) <= targets
