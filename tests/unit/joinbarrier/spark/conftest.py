# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the Spark source that need no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.own_folder import own_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own in shared memory."""
    with own_folder("unit") as made:
        yield made
