# SPDX-License-Identifier: Apache-2.0
"""How long does `framegate --version` take?"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from dev.bench.result import Result, rounds


def run() -> Iterator[Result]:
    """One result."""

    def version() -> float:
        began_ns = time.perf_counter_ns()
        subprocess.run([sys.executable, "-m", "framegate", "--version"], check=True, stdout=subprocess.DEVNULL)
        return (time.perf_counter_ns() - began_ns) / 1e6

    cost, spread = rounds(version, 9)
    yield Result(question="framegate --version", measured=cost, unit="ms", target=300, spread=spread)
