# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the Spark source that need no Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own in shared memory."""
    made = Path(tempfile.mkdtemp(prefix="framegate-unit-", dir="/dev/shm"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
