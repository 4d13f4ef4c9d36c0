# SPDX-License-Identifier: Apache-2.0
"""A base directory of the test's own: servers that are given no token keep one there."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def base_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the environment of this process and of those that it starts names."""
    base = tmp_path / "base"
    monkeypatch.setenv("FRAMEGATE_BASE_DIR", str(base))
    return base
