# SPDX-License-Identifier: Apache-2.0
"""Which of the things that were seen are wanted."""

from __future__ import annotations

from collections.abc import Iterable

from framegate.tools.inspect.options import InspectOptions
from framegate.tools.inspect.seen import Seen


class Filter:
    """By stream, by template and by sequence; what has no sequence passes where none is asked for."""

    def __init__(self, options: InspectOptions) -> None:
        self._streams = frozenset(options.streams)
        self._templates = _words(options.templates)
        self._first, self._end = options.sequences

    def admits(self, seen: Seen) -> bool:
        """Whether it is wanted."""
        if self._streams and seen.stream not in self._streams:
            return False
        if self._templates and seen.kind.lower() not in self._templates and str(seen.template) not in self._templates:
            return False
        if self._first is None and self._end is None:
            return True
        if seen.seq is None:
            return False
        return (self._first is None or seen.seq >= self._first) and (self._end is None or seen.seq < self._end)


def _words(templates: Iterable[str]) -> frozenset[str]:
    return frozenset(word.strip().lower() for each in templates for word in each.split(",") if word.strip())
