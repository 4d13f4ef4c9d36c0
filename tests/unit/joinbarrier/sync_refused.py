# SPDX-License-Identifier: Apache-2.0
"""A process whose system refuses to write through to the disk: run as a program with a folder and a durability.

It writes a journal there and prints which of its steps failed, as a JSON list. Only a step that asks the system to
write through can fail: that is how a test sees who asks.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from framegate.schema.errors import FramegateError

from tests.unit.joinbarrier.journal_writing import append, cell, small_writer

SYNCS: Final = {"x86_64": (26, 74, 75), "aarch64": (227, 82, 83)}
"""The numbers of msync, fsync and fdatasync."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD_NUMBER, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_FAIL, _ALLOW = 0x0005_0000, 0x7FFF_0000


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def refuse_syncs() -> None:
    """From here on this thread, and those that it starts, get EIO for each of them."""
    numbers = SYNCS[os.uname().machine]
    tests = [(_IF_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    steps = [(_LOAD_NUMBER, 0, 0, 0), *tests, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EIO)]
    program = _Program(len(steps), (_Instruction * len(steps))(*(_Instruction(*step) for step in steps)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def failures(steps: dict[str, Callable[[], Any]]) -> list[str]:
    """The steps that raise, each tried whatever became of those before."""
    failed = []
    for name, step in steps.items():
        try:
            step()
        except (FramegateError, OSError):
            failed.append(name)
    return failed


if __name__ == "__main__":
    writer = small_writer(Path(sys.argv[1]), ["a"], durability=sys.argv[2])
    append(writer, {"a": cell(b"payload")})
    refuse_syncs()
    print(json.dumps(failures({"seal": writer.seal, "sync": writer.sync, "close": writer.close})))
