# SPDX-License-Identifier: Apache-2.0
"""The program ``framegate``, also ``python -m framegate``. Every import that could wait costs start-up time."""

import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line of this process and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        return _print_version()
    signal.signal(signal.SIGINT, _on_first_interrupt)
    from framegate.cli import run

    code = run(sys.argv[1:])
    # What was asked for is done and said: a Ctrl-C that comes while the interpreter ends changes nothing of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _print_version() -> int:
    from framegate._version import VERSION

    print(f"framegate {VERSION}")
    return 0


def _on_first_interrupt(_signal: int, _frame: FrameType | None) -> None:
    # The first Ctrl-C unwinds, so that commands can end cleanly; the second is the system's own and ends at once.
    # Installed even where a shell started us with the signal ignored, as it does for background jobs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
