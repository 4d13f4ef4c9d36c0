# SPDX-License-Identifier: Apache-2.0
"""The screen: the lines of many parts on one terminal, with time, name and text, each part in its colour.

A terminal that takes nothing must not block the rig. So lines that find no space are counted rather than waited for,
unless the screen is patient. The logs have these lines all the same.
"""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from framegate.schema.console.reporting import emit
from framegate.tools.rig.log_file import LogLine

_COLOURS: Final = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
_RED: Final = 31
_SHOWN_MAX: Final = 960
"""The most characters of a line: in the longest encoding they fit what a pipe accepts at once."""
_BAD: Final = re.compile(r"failed for good|was killed|ended with exit code|\[FG-\d+|^Traceback")


class Screen:
    """Shows the lines of a rig."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        as_json: bool = False,
        is_patient: bool = False,
        stream: TextIO | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._out = stream or sys.stdout
        self._as_json, self._is_patient = as_json, is_patient
        self._width = max(map(len, names), default=0)
        self._colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}
        self._is_coloured = self._out.isatty() and not environment.get("NO_COLOR")
        self._dropped = 0

    def show(self, line: LogLine) -> None:
        """Print a line, if the terminal takes it."""
        if not self._is_patient and not self._has_room():
            self._dropped += 1
            return
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self.show(LogLine(line.stamp, "rig", f"{dropped} lines found no room here; `framegate logs` has them"))
        if self._as_json:
            emit({"event": "line", "at": line.stamp, "part": line.name, "text": line.text})
            return
        print(self._rendered(line), file=self._out, flush=True)

    def _rendered(self, line: LogLine) -> str:
        # No output of a part may control this terminal.
        text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", line.text)
        if not self._is_patient and len(text) > _SHOWN_MAX:
            text = f"{text[: _SHOWN_MAX - 1]}…"
        head = f"{line.local_time} {line.name.ljust(self._width)} |"
        if not self._is_coloured:
            return f"{head} {text}"
        colour = self._colours.get(line.name, 0)
        text = f"\x1b[{_RED}m{text}\x1b[0m" if _BAD.search(text) else text
        return f"\x1b[{colour}m{head}\x1b[0m {text}"

    def _has_room(self) -> bool:
        try:
            return bool(select.select([], [self._out], [], 0)[1])
        except (OSError, ValueError):
            # This is not a file of the system, so it always has space.
            return True
