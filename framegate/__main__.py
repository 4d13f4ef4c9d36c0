# SPDX-License-Identifier: Apache-2.0
"""The program ``framegate``, also ``python -m framegate``. Every import that could wait costs start-up time."""

import signal
import sys
from types import FrameType
from typing import Final

_AGAIN_S: Final = 0.005


def main() -> int:
    """Run the command line of this process and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        return _print_version()
    signal.signal(signal.SIGINT, _on_first_interrupt)
    sys.unraisablehook = _on_lost_exception
    try:
        # The launcher keeps a Ctrl-C back until here, where there is someone to take it.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        from framegate.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        # It came while the command line was still imported.
        from framegate.cli import interrupted

        code = interrupted(sys.argv[1:])
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


def _on_lost_exception(lost: "sys.UnraisableHookArgs") -> None:
    # Python drops what is raised in a callback of its garbage collector, as imports have them. A Ctrl-C that met one is
    # raised again a moment later, or the command would go on as if nobody had pressed it.
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, _on_first_interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


if __name__ == "__main__":
    sys.exit(main())
