# SPDX-License-Identifier: Apache-2.0
"""What the comparison with other ways to move frames asks of each of them, and what stands in its frames.

Every peer does the same work: the producer's frame is copied in, the consumer reads one word of each cache line where
the peer puts it. A frame is an array of 8-byte words:

    | 0: number | 1: time before it was sent, ns | 2: phase | 3 ...: anything | last: number again |
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Send: TypeAlias = Callable[[Words], Any]

HEAD: Final = struct.Struct("<QQQ")
END: Final = (1 << 63) - 1
"""The number of the frame that ends a phase."""
STUCK_S: Final = 10.0
"""A peer that moves nothing for so long is given up."""
_IN_FLIGHT_BYTES: Final = 128 << 20
_IN_FLIGHT_FRAMES: Final = 4_096


class Peer(ABC):
    """One way to bring frames to another process.

    Entered by the producer's process, then pickled to the consumer's; ``sending`` is for the one, ``frames`` for the
    other.
    """

    name: ClassVar[str]
    package: ClassVar[str | None] = None
    """What must be installed; None for what is there anyway."""

    def __init__(self, home: str, frame_bytes: int) -> None:
        self.home = home
        self.frame_bytes = frame_bytes
        self.torn = 0

    @property
    def depth(self) -> int:
        """Frames that may be on their way: the same for all, as far as they can say it."""
        return min(_IN_FLIGHT_FRAMES, 1 << (_IN_FLIGHT_BYTES // self.frame_bytes).bit_length() - 1)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *exc: object) -> None:  # noqa: B027  (most have nothing to remove)
        """Remove whatever ``__enter__`` made."""

    @abstractmethod
    def sending(self) -> AbstractContextManager[Send]:
        """A function that copies a frame in and sends it. It may wait, or lose frames; not mix them."""

    @abstractmethod
    def frames(self) -> Iterator[Words]:
        """Frames as they come, each good until the next is asked for; ``torn`` counts those overwritten by then."""
