# SPDX-License-Identifier: Apache-2.0
"""The README runs as printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.driver.mediadriver import MediaDriver

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def driver_dir() -> Iterator[str]:
    home = tempfile.mkdtemp(prefix="framegate-readme-", dir="/dev/shm")
    try:
        with MediaDriver(aeron_dir=f"{home}/aeron"):
            yield f"{home}/aeron"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def test_the_example_prints_the_request_and_the_announce(driver_dir: str) -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example is not None

    ran = subprocess.run(
        [sys.executable, "-c", example[1]],
        env={**os.environ, "FRAMEGATE_AERON_DIR": driver_dir},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout.splitlines()
    assert [line.partition("(")[0] for line in printed] == ["SequenceMergeMapRequest", "SequenceMergeMapAnnounce"]


def test_its_make_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / "README.md").read_text(), re.MULTILINE)) <= targets
