# SPDX-License-Identifier: Apache-2.0
"""How the demo comes to raise its errors."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.shmpool.idle import sleep_ns
from framegate.tools.demo.child import Child
from framegate.tools.demo.verdict import Verdict


def _a_process_fails() -> None:
    with tempfile.TemporaryDirectory() as folder:
        child = Child("camera1", [sys.executable, "-c", "raise SystemExit('no light')"], Path(folder), {})
        while child.exit_status is None:
            sleep_ns(1_000_000)
        try:
            child.check()
        finally:
            child.close()


def _nothing_is_joined() -> None:
    Verdict(["camera1"], (16, 16)).check_account({"rows": 0, "unmatched": {"camera1": 5}}, {"camera1": 5})


DEMO_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {930: _a_process_fails, 931: _nothing_is_joined}
