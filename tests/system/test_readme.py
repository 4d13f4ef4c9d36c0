# SPDX-License-Identifier: Apache-2.0
"""The README runs as printed."""

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
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example is not None

    ran = subprocess.run(
        [sys.executable, "-c", example[1]], env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["100", "frames,", "from", "0", "to", "99", "0"]


def test_its_make_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE)) <= targets
