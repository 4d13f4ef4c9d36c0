# SPDX-License-Identifier: Apache-2.0
"""A file's own words, fit to be shown: on one short line, without what a terminal would obey."""

from __future__ import annotations

from typing import Final

_LENGTH_MAX: Final = 200


def one_line(text: str) -> str:
    """Its words, as many as a line holds.

    >>> one_line("could not parse:  " + chr(27) + "[2J" + chr(10) + "float32")
    'could not parse: ?[2J float32'
    """
    words = " ".join(text.split())[:_LENGTH_MAX]
    return "".join(each if each.isprintable() else "?" for each in words)
