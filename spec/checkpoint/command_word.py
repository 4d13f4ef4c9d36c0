# SPDX-License-Identifier: Apache-2.0
"""The command word, by which a coordinator asks for a barrier. It is one number, so that nobody reads half of it.

::

     127                        64 63                 16  15  14        0
    +-----------------------------+---------------------+---+-----------+
    | checkpoint id, 64 bits      | epoch, 48 bits      | U | 0         |   0 as a whole: nothing is asked for
    +-----------------------------+---------------------+---+-----------+
"""

from __future__ import annotations

import threading
from typing import Final

from framegate.joinbarrier.checkpoint.messages import EPOCH_MAX, CheckpointBarrier, check_barrier

EMPTY: Final = 0
_UNALIGNED_BIT: Final = 15


def pack(checkpoint_id: int, epoch: int, *, unaligned: bool) -> int:
    """Pack a barrier into a word. Raises InvalidValue for an id or an epoch that does not fit.

    >>> unpack(pack(12, 3, unaligned=True))
    CheckpointBarrier(checkpoint_id=12, epoch=3, unaligned=True)
    """
    checkpoint_id, epoch = check_barrier(checkpoint_id, epoch)
    return checkpoint_id << 64 | epoch << 16 | int(unaligned) << _UNALIGNED_BIT


def unpack(word: int) -> CheckpointBarrier:
    """Unpack the barrier that a non-empty word asks for."""
    return CheckpointBarrier(word >> 64, word >> 16 & EPOCH_MAX, bool(word >> _UNALIGNED_BIT & 1))


class CommandWord:
    """One command word, with the newest emitted barrier beside it. A lock stands for the atomic operations of the
    native one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._word = EMPTY
        self.last_emitted = EMPTY

    def load(self) -> int:
        with self._lock:
            return self._word

    def store(self, word: int) -> None:
        """Replace the command: the newest wins."""
        with self._lock:
            self._word = word

    def take(self) -> int:
        """Take the command and clear the word, in one step (B1)."""
        with self._lock:
            found, self._word = self._word, EMPTY
            return found
