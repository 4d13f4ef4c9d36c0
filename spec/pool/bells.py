# SPDX-License-Identifier: Apache-2.0
"""How a reader that sleeps is woken (docs/formats.md, 21), in plain Python: the twin of ``native/core/src/bell``.

Python has no atomic additions and no fences, so this twin shows the layout and the order of steps, for one writer and
one reader whose steps a test takes in turn.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from pathlib import Path
from typing import Final, Self

BELLS, SEATS = 1024, 64
_PAGE: Final = 4096
_BELL_BYTES, _OWNER_AT = 64, 8
_RUNG_AT, _ASLEEP_AT, _SEATS_AT = 64, 128, 192
_FUTEX: Final = 202
_FUTEX_WAIT, _FUTEX_WAKE, _ALL = 0, 1, 2**31 - 1
_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Words:
    """A file of words, mapped."""

    def __init__(self, path: Path, magic: bytes, size: int) -> None:
        path.touch(mode=0o600)
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
            self.memory = mmap.mmap(file.fileno(), size)
        if self.number(0) == 0:
            self.put(8, 1)
            self.memory[0:8] = magic

    def number(self, offset: int, width: int = 8) -> int:
        return int.from_bytes(self.memory[offset : offset + width], "little")

    def put(self, offset: int, value: int, width: int = 8) -> None:
        self.memory[offset : offset + width] = value.to_bytes(width, "little")


class StreamBells:
    """Who sleeps on one stream, and the bells of its namespace."""

    def __init__(self, folder: Path) -> None:
        self._sleepers = _Words(folder.parent / "sleepers", b"FGSLEEP\0", _PAGE)
        self._bells = _Words(folder.parent.parent / "bells", b"FGBELLS\0", _PAGE + BELLS * _BELL_BYTES)

    # --- Writers ---

    def promise(self, epoch: int) -> None:
        """Whoever writes this epoch rings."""
        self._sleepers.put(_RUNG_AT, epoch + 1)

    def take_back(self, epoch: int) -> None:
        """It does not any more."""
        if self._sleepers.number(_RUNG_AT) == epoch + 1:
            self._sleepers.put(_RUNG_AT, 0)
        self.ring()

    def ring(self) -> int:
        """Behind each message: wake those who sleep; how many bells were rung."""
        asleep = self._sleepers.number(_ASLEEP_AT)
        self._sleepers.put(_ASLEEP_AT, 0)
        seats = [seat for seat in range(SEATS) if asleep >> seat & 1]
        bells = [self._sleepers.number(_SEATS_AT + 4 * seat, 4) for seat in seats]
        for bell in bells:
            if 0 < bell <= BELLS:
                at = _PAGE + (bell - 1) * _BELL_BYTES
                self._bells.put(at, (self._bells.number(at, 4) + 1) % 2**32, 4)
                _libc.syscall(_FUTEX, self._word(bell - 1), _FUTEX_WAKE, _ALL)
        return len(bells)

    # --- Readers ---

    def is_rung(self, epoch: int) -> bool:
        """Whether the writer of this epoch rings."""
        return self._sleepers.number(_RUNG_AT) == epoch + 1

    def sleeper(self) -> Sleeper:
        """A bell and a seat that nobody has."""
        owners = (_PAGE + bell * _BELL_BYTES + _OWNER_AT for bell in range(BELLS))
        bell = next(number for number, at in enumerate(owners) if self._bells.number(at) == 0)
        self._bells.put(_PAGE + bell * _BELL_BYTES + _OWNER_AT, _began(os.getpid()) << 32 | os.getpid())
        seat = next(seat for seat in range(SEATS) if self._sleepers.number(_SEATS_AT + 4 * seat, 4) == 0)
        self._sleepers.put(_SEATS_AT + 4 * seat, bell + 1, 4)
        return Sleeper(self, bell, seat)

    def set_asleep(self, seat: int, is_asleep: bool) -> None:
        """Set a seat's bit, or take it away."""
        asleep = self._sleepers.number(_ASLEEP_AT)
        self._sleepers.put(_ASLEEP_AT, asleep | 1 << seat if is_asleep else asleep & ~(1 << seat))

    def hear(self, bell: int) -> int:
        """The value of a bell."""
        return self._bells.number(_PAGE + bell * _BELL_BYTES, 4)

    def wait(self, bell: int, seen: int, most_ns: int) -> bool:
        """Sleep while the bell has this value; whether it was rung."""
        most = _Time(*divmod(most_ns, 10**9))
        answer = _libc.syscall(_FUTEX, self._word(bell), _FUTEX_WAIT, seen, ctypes.byref(most))
        return bool(answer == 0 or ctypes.get_errno() == errno.EAGAIN)

    def leave(self, bell: int, seat: int) -> None:
        """Give seat and bell back."""
        self.set_asleep(seat, is_asleep=False)
        self._sleepers.put(_SEATS_AT + 4 * seat, 0, 4)
        self._bells.put(_PAGE + bell * _BELL_BYTES + _OWNER_AT, 0)

    def _word(self, bell: int) -> ctypes.c_void_p:
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._bells.memory))
        return ctypes.c_void_p(start + _PAGE + bell * _BELL_BYTES)


class Sleeper:
    """One reader of a stream; a context manager."""

    def __init__(self, stream: StreamBells, bell: int, seat: int) -> None:
        self._stream, self._bell, self._seat = stream, bell, seat

    def lie_down(self) -> int:
        """What the bell says now. From here on whoever writes rings; look for frames once more, then sleep."""
        seen = self._stream.hear(self._bell)
        self._stream.set_asleep(self._seat, is_asleep=True)
        return seen

    def sleep(self, seen: int, most_ns: int) -> bool:
        """Whether it was rung before the time was up, in the sleep or before it."""
        was_rung = self._stream.wait(self._bell, seen, most_ns)
        self._stream.set_asleep(self._seat, is_asleep=False)
        return was_rung

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.leave(self._bell, self._seat)


def _began(pid: int) -> int:
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return max(ticks % 2**32, 1)
