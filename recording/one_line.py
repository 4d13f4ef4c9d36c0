# SPDX-License-Identifier: Apache-2.0
"""Text out of a file, made fit for a message: one short line, without control characters for a terminal."""

from __future__ import annotations

from typing import Final

_LENGTH_MAX: Final = 200


def one_line(text: str) -> str:
    """The text on one line, cut to a readable length.

    >>> one_line("could not parse:  " + chr(27) + "[2J" + chr(10) + "float32")
    'could not parse: ?[2J float32'
    """
    words = " ".join(text.split())[:_LENGTH_MAX]
    return "".join(each if each.isprintable() else "?" for each in words)
