# SPDX-License-Identifier: Apache-2.0
"""The only form of a region's URI (PROTOCOL 6.1): ``shm:file?path=/absolute/path|require_hugepages=true``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from framegate.schema.errors import UriRefused

_SCHEME: Final = "shm:file?"
_PATH: Final = re.compile(r"/[!-{}~]*")
"""Visible ASCII. The question mark is excluded below, and the vertical bar by splitting."""
_HUGEPAGES: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class RegionUri:
    """The location of a region.

    >>> RegionUri.parse("shm:file?path=/dev/shm/a|require_hugepages=true")
    RegionUri(path='/dev/shm/a', require_hugepages=True)
    >>> str(RegionUri("/dev/shm/a"))
    'shm:file?path=/dev/shm/a'
    """

    path: str
    require_hugepages: bool = False

    @classmethod
    def parse(cls, text: str) -> RegionUri:
        """Parse a URI. Anything outside the grammar is refused with the reason."""
        if not text.startswith(_SCHEME):
            raise UriRefused("the scheme is not shm:file", uri=text)
        first, *others = text.removeprefix(_SCHEME).split("|")
        key, _, path = first.partition("=")
        if key != "path":
            raise UriRefused("the first parameter is not path", uri=text)
        if "?" in path or not _PATH.fullmatch(path):
            raise UriRefused("the path is not absolute, or has characters that a path here cannot have", uri=text)
        return cls(path, _require_hugepages(others, text))

    def __str__(self) -> str:
        return f"{_SCHEME}path={self.path}{'|require_hugepages=true' if self.require_hugepages else ''}"


def _require_hugepages(parameters: list[str], text: str) -> bool:
    if not parameters:
        return False
    key, _, value = parameters[0].partition("=")
    if len(parameters) > 1 or key != "require_hugepages" or value not in _HUGEPAGES:
        raise UriRefused("after the path only require_hugepages=true or =false may stand, once", uri=text)
    return _HUGEPAGES[value]
