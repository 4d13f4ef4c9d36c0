# SPDX-License-Identifier: Apache-2.0
"""The command word of a stream's producer: the file through which a barrier is requested (PROTOCOL 17.1).

The file is in the stream's folder, beside those of its epochs, and so outlives each of them. A producer that was killed
and started again therefore sends no id twice. If the file cannot be used, the word is memory of this process alone.
Then barriers can be requested on the control stream only, and ids are remembered only while the producer lives.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from framegate.schema.errors import AtomicsMissing, CommandWordRefused

from framegate._native import CommandWord

NAME: Final = "command.word"
EPOCH_MAX: Final = (1 << 48) - 1
"""The largest epoch of a checkpoint: the word has 48 bits for it."""
_U64_MAX: Final = (1 << 64) - 1
_AGAIN_NS: Final = 1_000_000_000
_log = logging.getLogger(__name__)


def can_carry(checkpoint_id: int, epoch: int) -> bool:
    """Whether a barrier can have this id and epoch.

    >>> can_carry(1, 0), can_carry(0, 0), can_carry(1, 1 << 48)
    (True, False, False)
    """
    return 0 < checkpoint_id <= _U64_MAX and 0 <= epoch <= EPOCH_MAX


def word_path(folder_of_ring: str, stream: int, epoch: int) -> Path | None:
    """Where the word of a stream is; None if the regions are not where PROTOCOL 6.2 says.

    >>> word_path("/dev/shm/tensorpool-me/default/10001/7", 10_001, 7)
    PosixPath('/dev/shm/tensorpool-me/default/10001/command.word')
    >>> word_path("/dev/shm/elsewhere", 10_001, 7)
    """
    folder = Path(folder_of_ring)
    return folder.parent / NAME if (folder.parent.name, folder.name) == (str(stream), str(epoch)) else None


class ProducersWord:
    """The word of one producer: in its file if that can be used, else in its own memory."""

    def __init__(self, stream: int | str) -> None:
        """``stream`` is named in messages. Raises AtomicsMissing if other processes could see half a word."""
        if not CommandWord.is_lock_free():
            raise AtomicsMissing("128-bit atomic operations are not lock-free here", stream=stream)
        self.native = CommandWord.anonymous()
        self._stream = stream
        self._path: Path | None = None
        self._held: tuple[int, int] | None = None
        self._again_at_ns = 0
        self._said = ""

    def move_to(self, path: Path | None) -> bool:
        """Move to the file beside regions that were mapped. Returns whether the word is another one now."""
        self._path, self._again_at_ns = path, 0
        return self.retry(0)

    def retry(self, now_ns: int) -> bool:
        """Try the file again, if it is not in use yet. Returns whether the word is another one now.

        A predecessor that was suspended may hold the file until it goes on and ends.
        """
        path = self._path
        if path is None or now_ns < self._again_at_ns:
            return False
        self._again_at_ns = now_ns + _AGAIN_NS
        if self._held is not None and _identity(path) == self._held:
            return False
        try:
            self.native = CommandWord.create(str(path))
        except CommandWordRefused as refusal:
            self._held = None
            self._say(refusal)
            return False
        self._held, self._said = _identity(path), ""
        return True

    def inject(self, checkpoint_id: int, epoch: int, *, unaligned: bool) -> None:
        """Request a barrier. It replaces a request that was not taken yet."""
        self.native.inject(checkpoint_id, epoch, unaligned)

    def _say(self, refusal: CommandWordRefused) -> None:
        if refusal.message != self._said:
            self._said = refusal.message
            _log.warning("stream %s: barriers are asked for on the control stream only: %s", self._stream, refusal)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return about.st_dev, about.st_ino
