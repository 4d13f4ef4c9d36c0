# SPDX-License-Identifier: Apache-2.0
"""Leaves nothing of the demo behind, however that ends: a process that waits for its end, and then tidies up.

The demo holds the other end of its standard input. When that closes, by a good end or by kill -9, whatever else has the
demo's mark in its environment ends, and the demo's folder and its readers' doorbells go.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from framegate.tools.demo.plan import Plan
from framegate.tools.rig.guard import end_marked

QUERY: Final = "demo"
"""The name under which the query reads the journal."""
_GRACE_S: Final = 5.0
_END_S: Final = 60.0


@contextmanager
def cleaned_up(plan: Plan, mark: str) -> Iterator[None]:
    """Everything goes at the end of the block, or of this process."""
    words = [sys.executable, "-m", __name__, str(plan.home), str(plan.journal), plan.aeron_dir, mark]
    cleaner = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        # Should it take longer, it goes on without us.
        with suppress(subprocess.TimeoutExpired):
            cleaner.communicate(timeout=_END_S)


def main(home: str, journal: str, aeron_dir: str, mark: str) -> None:
    """Wait for the end of standard input, then tidy up."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Whoever ends it early ends the tidying up; the demo's own end is the signal.
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    # Imported here: while the demo begins, this process shall cost nothing.
    from framegate.driver.mediadriver import await_orphan
    from framegate.gate.run_folder import READER
    from framegate.joinbarrier.journal.doorbell import take_away

    end_marked(mark, _GRACE_S)
    await_orphan(aeron_dir)
    for reader in (READER, QUERY):
        take_away(Path(journal), reader)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
