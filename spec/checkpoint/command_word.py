# SPDX-License-Identifier: Apache-2.0
"""The word by which a coordinator asks for a barrier: everything in one number, so that nothing is seen by halves.

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
    """Raises InvalidValue for an id or an epoch that does not fit.

    >>> unpack(pack(12, 3, unaligned=True))
    CheckpointBarrier(checkpoint_id=12, epoch=3, unaligned=True)
    """
    checkpoint_id, epoch = check_barrier(checkpoint_id, epoch)
    return checkpoint_id << 64 | epoch << 16 | int(unaligned) << _UNALIGNED_BIT


def unpack(word: int) -> CheckpointBarrier:
    """The barrier that a word asks for; not for the empty word."""
    return CheckpointBarrier(word >> 64, word >> 16 & EPOCH_MAX, bool(word >> _UNALIGNED_BIT & 1))


class CommandWord:
    """One word, beside it the last barrier emitted, and a lock in place of the native one's atomic operations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._word = EMPTY
        self.last_emitted = EMPTY

    def load(self) -> int:
        with self._lock:
            return self._word

    def store(self, word: int) -> None:
        """The newest command wins."""
        with self._lock:
            self._word = word

    def take(self) -> int:
        """What is asked for, and nothing is asked for any more, in one step (B1)."""
        with self._lock:
            found, self._word = self._word, EMPTY
            return found
