# SPDX-License-Identifier: Apache-2.0
"""Patterns: payloads that `framegate produce` writes and `framegate consume --verify` checks.

``counter``: the sequence in the first 8 bytes, little-endian, then bytes that follow from stream and sequence.
``noise``: random bytes, the same for every frame. ``zeros``: zeros. ``moving`` is in ``moving.py``.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
from framegate.shmpool.commands.moving import MovingPattern

PatternName = Literal["counter", "noise", "zeros", "moving"]
PATTERNS: Final[tuple[str, ...]] = get_args(PatternName)
_PERIOD: Final = 251
"""A prime, so that a copy that is shifted by a power of two is noticed."""
_SEQUENCE_BYTES: Final = 8


class Payloads(Protocol):
    """Fills the payloads of one stream, and recognizes them."""

    def fill(self, payload: npt.NDArray[np.uint8], seq: int) -> None:
        """Write frame ``seq`` into its payload, as flat bytes."""
        ...

    def holds(self, payload: npt.NDArray[np.uint8], seq: int) -> bool:
        """Whether a payload is that of frame ``seq``."""
        ...


def payloads(name: PatternName, *, stream: int, shape: tuple[int, ...], dtype: str, lag: int = 0) -> Payloads:
    """The pattern with this name. Raises WrongUsage for a shape or dtype that it does not make."""
    if name == "moving":
        return MovingPattern(stream=stream, shape=shape, dtype=dtype, lag=lag)
    payload_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return Pattern(name, stream=stream, payload_bytes=payload_bytes)


class Pattern:
    """Fills and checks the payloads of one stream.

    >>> pattern = Pattern("counter", stream=7, payload_bytes=12)
    >>> payload = np.zeros(12, np.uint8)
    >>> pattern.fill(payload, seq=258)
    >>> payload[:3].tolist(), pattern.holds(payload, 258), pattern.holds(payload, 259)
    ([2, 1, 0], True, False)
    """

    def __init__(self, name: PatternName, *, stream: int, payload_bytes: int) -> None:
        self.name = name
        self._stream = stream
        self._run = (np.arange(payload_bytes + _PERIOD, dtype=np.uint32) % _PERIOD).astype(np.uint8)
        self._noise = np.random.default_rng(stream).integers(0, 256, payload_bytes, np.uint8)

    def fill(self, payload: npt.NDArray[np.uint8], seq: int) -> None:
        """Write frame ``seq`` into its payload, as flat bytes."""
        match self.name:
            case "counter":
                head = min(_SEQUENCE_BYTES, payload.size)
                payload[:head] = np.frombuffer(seq.to_bytes(_SEQUENCE_BYTES, "little"), np.uint8)[:head]
                payload[head:] = self._tail(seq, payload.size - head)
            case "noise":
                payload[:] = self._noise[: payload.size]
            case _:
                payload[:] = 0

    def holds(self, payload: npt.NDArray[np.uint8], seq: int) -> bool:
        """Whether a payload is that of frame ``seq``."""
        head = min(_SEQUENCE_BYTES, payload.size)
        sequence = seq.to_bytes(_SEQUENCE_BYTES, "little")[:head]
        return payload[:head].tobytes() == sequence and bool(
            np.array_equal(payload[head:], self._tail(seq, payload.size - head))
        )

    def _tail(self, seq: int, length: int) -> npt.NDArray[np.uint8]:
        start = (self._stream * 31 + seq * 17) % _PERIOD
        return self._run[start : start + length]


def flat_bytes(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """The memory of a contiguous array as bytes, in memory order."""
    return array.reshape(-1, order="A").view(np.uint8)
