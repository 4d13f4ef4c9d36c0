# SPDX-License-Identifier: Apache-2.0
"""A million inputs into `framegate inspect`, guided by what they reach. `make fuzz` installs what guides them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.long
def test_a_million_guided_inputs_give_lines_and_numbered_errors_only(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    words = [sys.executable, "-m", "tests.fuzz.recordings", "1000000", f"-artifact_prefix={tmp_path}/"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "Done 1000000 runs" in ran.stderr
