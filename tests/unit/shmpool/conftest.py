# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the pool's tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder of the test's own in shared memory."""
    folder = Path(tempfile.mkdtemp(prefix="framegate-unit-", dir="/dev/shm"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
