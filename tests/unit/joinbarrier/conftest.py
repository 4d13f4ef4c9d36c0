# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of joins and journals."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(shm: Path) -> Path:
    """Where this test's journal lies."""
    return shm
