# SPDX-License-Identifier: Apache-2.0
"""How the demo comes to raise its errors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.tools.audit.auditing import Audit
from framegate.tools.demo.beside import Beside
from framegate.tools.demo.verdict import Verdict


def _a_process_fails() -> None:
    with tempfile.TemporaryDirectory() as folder, Beside("camera1", Path(folder), "no-such-command"):
        pass


def _nothing_is_joined() -> None:
    Verdict(["camera1"], (16, 16)).check(0, Audit({}, []))


DEMO_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {930: _a_process_fails, 931: _nothing_is_joined}
