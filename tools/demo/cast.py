# SPDX-License-Identifier: Apache-2.0
"""The demo's processes together: started one after another, watched, and the one named that failed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from framegate.schema.errors import DONE, Interrupted
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.child import Child

STEP_NS: Final = 20_000_000
_GRACE_NS: Final = 500_000_000
"""When one fails, others may have: after this long the first of them in the order of the start is the cause."""
_KEPT_VARIABLES: Final = ("FRAMEGATE_LOG", "FRAMEGATE_MEDIA_DRIVER")


class Cast:
    """All processes, by name, in the order of their start."""

    def __init__(self, logs: Path, home: Path, stop: StopSignal, note: Callable[[int], None]) -> None:
        self._logs, self._stop, self._note = logs, stop, note
        self._environment = environment(os.environ, home)
        self._children: dict[str, Child] = {}

    def __getitem__(self, name: str) -> Child:
        return self._children[name]

    def pids(self) -> dict[str, int]:
        """Of all that were started."""
        return {name: child.pid for name, child in self._children.items()}

    def start(self, name: str, words: Sequence[str]) -> Child:
        """Start one. It ends with the demo, whatever happens to that."""
        child = self._children[name] = Child(name, words, self._logs, self._environment)
        self._note(child.pid)
        return child

    def ready(self, child: Child, within_s: float) -> None:
        """Wait until it says that it is. Raises DemoFailed, and Interrupted when the user has had enough."""

        def is_ready() -> bool:
            child.hear()
            return child.said("ready") is not None

        if not self._until(is_ready, within_s):
            child.fail(f"{child.name} was not ready within {within_s:g} s")
        if self._stop.is_set:
            raise Interrupted("ended by the user before there was anything to see", waited_for=child.name)

    def end(self, child: Child, within_s: float) -> None:
        """Tell it to end, and wait. Raises DemoFailed."""
        child.tell_to_end(signal.SIGINT)
        deadline_ns = monotonic_ns() + int(within_s * 1e9)
        while child.exit_status is None:
            if monotonic_ns() >= deadline_ns:
                child.fail(f"{child.name} did not end within {within_s:g} s")
            sleep_ns(STEP_NS)
        child.check()

    def check(self, may_have_ended: Callable[[Child], bool] = lambda _: False) -> None:
        """Raises DemoFailed when one failed, or ended that should not have."""
        if self._first_failed(may_have_ended) is None:
            return
        sleep_ns(_GRACE_NS)
        failed = self._first_failed(may_have_ended)
        if failed is not None:
            failed.check()
            failed.fail(f"{failed.name} ended before it should")

    def _first_failed(self, may_have_ended: Callable[[Child], bool]) -> Child | None:
        for child in self._children.values():
            status = child.exit_status
            if status is not None and (status != DONE or not (child.is_told_to_end or may_have_ended(child))):
                return child
        return None

    def close(self) -> None:
        """Let go of what is open. The processes are the cleaner's."""
        for child in self._children.values():
            child.close()

    def _until(self, is_so: Callable[[], bool], within_s: float) -> bool:
        deadline_ns = monotonic_ns() + int(within_s * 1e9)
        while not is_so():
            self.check()
            if self._stop.is_set:
                return True
            if monotonic_ns() >= deadline_ns:
                return False
            self._stop.wait(STEP_NS / 1e9)
        return True


def environment(inherited: Mapping[str, str], home: Path) -> dict[str, Any]:
    """Of the demo's processes: what is configured for others stays out, and temporary files go to the demo's home.

    Spark's workers are given the Python that runs here.
    """
    kept = {
        name: value for name, value in inherited.items() if not name.startswith("FRAMEGATE_") or name in _KEPT_VARIABLES
    }
    folder = str(home / "tmp")
    java = f"{inherited.get('JDK_JAVA_OPTIONS', '')} -Djava.io.tmpdir={folder} -XX:-UsePerfData".strip()
    python = dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    # Linear algebra is small here, and threads of it that spin would take the cores from the others.
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **python, **threads, "TMPDIR": folder, "JDK_JAVA_OPTIONS": java}
