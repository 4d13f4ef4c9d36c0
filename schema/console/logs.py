# SPDX-License-Identifier: Apache-2.0
"""Logging of every command: plain lines on standard error, the level from FRAMEGATE_LOG."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from framegate.schema.errors import WrongType

VARIABLE: Final = "FRAMEGATE_LOG"
_HANDLER: Final = "framegate standard error"
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_KEPT_BYTES: Final = 1 << 20
_LEVELS: Final = {
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}


def level(environment: Mapping[str, str]) -> int:
    """The level that FRAMEGATE_LOG names, ``warn`` without it. Raises WrongType for another word."""
    found = environment.get(VARIABLE) or "warn"
    if found not in _LEVELS:
        wanted = "|".join(_LEVELS)
        raise WrongType(f"wanted {wanted}, found {found!r}", variable=VARIABLE, wanted=wanted, found=found)
    return _LEVELS[found]


def set_up(environment: Mapping[str, str]) -> None:
    """Log to standard error from now on; a second call only changes the level."""
    logger = logging.getLogger("framegate")
    logger.setLevel(level(environment))
    # Ours by name: a test runner or an application may have added handlers of its own.
    if all(handler.name != _HANDLER for handler in logger.handlers):
        handler = _StandardError()
        handler.name = _HANDLER
        handler.setFormatter(logging.Formatter(_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False


@contextmanager
def kept_in(path: Path) -> Iterator[None]:
    """Of what is logged below a warning nothing goes to standard error, all goes to a file: the terminal is another
    program's. Without such lines there is no file; two of a MiB each hold the newest.
    """
    logger = logging.getLogger("framegate")
    if logger.level >= logging.WARNING:
        yield
        return
    # Imported here: it takes along what most commands do without.
    from logging.handlers import RotatingFileHandler

    shown = [handler for handler in logger.handlers if handler.name == _HANDLER]
    kept = RotatingFileHandler(path, maxBytes=_KEPT_BYTES, backupCount=1, delay=True)
    kept.setFormatter(logging.Formatter(_FORMAT))
    logger.addHandler(kept)
    for handler in shown:
        handler.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(kept)
        kept.close()
        for handler in shown:
            handler.setLevel(logging.NOTSET)


class _StandardError(logging.StreamHandler[TextIO]):
    """Standard error as it is at the moment: a progress bar that stands there makes room for a line."""

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _stream: TextIO) -> None:
        """It is where it is."""


def is_debug(environment: Mapping[str, str]) -> bool:
    """Whether tracebacks are wanted."""
    return environment.get(VARIABLE) == "debug"
