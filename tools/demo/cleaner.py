# SPDX-License-Identifier: Apache-2.0
"""Leaves nothing of the demo behind, however that ends: a process that waits for its end, and then tidies up.

The demo holds a pipe to it and writes a line for each session that it starts. When the pipe closes, at the demo's end,
by an error, Ctrl-C twice or kill -9, the sessions end in the reverse order of their beginning, and the folder goes.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Self

from framegate.tools.demo.sessions import end_session

_PATIENCE_S: Final = 5.0
_CLEANER_S: Final = 60.0


class Cleaner:
    """The demo's end of the pipe; a context manager. Its end waits until everything is gone."""

    def __init__(self, home: Path, aeron_dir: str, journal: Path, reader: str) -> None:
        words = ["--home", str(home), "--aeron-dir", aeron_dir, "--journal", str(journal), "--reader", reader]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "framegate.tools.demo.cleaner", *words],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def note(self, session: int) -> None:
        """This session is to end with the demo."""
        self._pipe.write(f"{session}\n".encode())
        self._pipe.flush()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        return self._process.stdin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._pipe.close()
        # Should it take longer, it goes on without us.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLEANER_S)


def main(arguments: Sequence[str]) -> int:
    """Wait for the end of standard input, then tidy up."""
    parser = argparse.ArgumentParser(prog="framegate.tools.demo.cleaner")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--aeron-dir", required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--reader", required=True)
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Whoever ends it early ends the tidying up; the demo's own end is the signal.
        signal.signal(number, signal.SIG_IGN)
    sessions = [int(line) for line in sys.stdin]
    for session in reversed(sessions):
        end_session(session, _PATIENCE_S)
    _tidy_up(options.home, options.aeron_dir, options.journal, options.reader)
    return 0


def _tidy_up(home: Path, aeron_dir: str, journal: Path, reader: str) -> None:
    # Imported here: while the demo begins, this process shall cost nothing.
    from framegate.driver.mediadriver import await_orphan
    from framegate.joinbarrier.journal.doorbell import take_away

    await_orphan(aeron_dir)
    take_away(journal, reader)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
