# SPDX-License-Identifier: Apache-2.0
"""How a command tells what went wrong: two lines on standard error, or one JSON object on standard output."""

from __future__ import annotations

import errno
import json
import re
import sys
from collections.abc import Mapping
from typing import Final

from framegate.schema.errors import FramegateError, Internal, Interrupted, NoPermission, NoRoom

_NO_ROOM: Final = {errno.ENOSPC, errno.EDQUOT}
_NO_PERMISSION: Final = {errno.EACCES, errno.EPERM, errno.EROFS}


def numbered_error(failure: BaseException) -> FramegateError:
    """The numbered error of anything that was raised.

    What the operating system refuses for want of room or rights is the machine's fault, wherever it shows;
    everything else without a number is a defect.
    """
    match failure:
        case FramegateError() if failure.code:
            return failure
        case KeyboardInterrupt():
            return Interrupted("ended by the user before it was done")
        case OSError() if failure.errno in _NO_ROOM:
            return NoRoom(_reason(failure), path=failure.filename or "unknown")
        case OSError() if failure.errno in _NO_PERMISSION:
            return NoPermission(_reason(failure), path=failure.filename or "unknown")
    return Internal(f"{type(failure).__name__}: {failure}")


def _reason(failure: OSError) -> str:
    return failure.strerror or str(failure)


def report(error: FramegateError, *, as_json: bool) -> None:
    """Print an error for a person, or for a program."""
    if as_json:
        emit(event(error))
    else:
        print(rendered(error), file=sys.stderr, flush=True)


def rendered(error: FramegateError) -> str:
    """Exactly two lines, whatever the facts contain.

    >>> print(rendered(NoRoom("full", path="/a\\nb")))
    [FG-921 NO_ROOM] path=/a\\x0ab: full
    Free room there, or point the directory option somewhere else.
    """
    hint = error.hint or "Add --help to the command, or see `framegate doctor`."
    first = str(type(error)(error.message, hint="", **error.facts))
    return f"{_one_line(first)}\n{_one_line(hint)}"


def _one_line(text: str) -> str:
    # Facts come from files and other processes: they must not fake a second line or drive the terminal.
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", text)


def event(error: FramegateError) -> dict[str, object]:
    """An error as the object that ``--json`` prints."""
    return {
        "event": "error",
        "code": error.code,
        "name": error.name,
        "message": error.message,
        "facts": dict(error.facts),
        "hint": error.hint,
    }


def emit(data: Mapping[str, object]) -> None:
    """Print one JSON object as one line, at once: a program may be waiting for it."""
    print(json.dumps(data, ensure_ascii=False, default=str), flush=True)
