# SPDX-License-Identifier: Apache-2.0
"""A producer's declaration of its frames, sent before it attaches (PROTOCOL 12.8). The driver's regions fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from framegate.schema.control import ClockDomain, StreamDeclaration
from framegate.schema.errors import FrameTooLarge, InvalidValue

CLOCKS: Final = {"monotonic": ClockDomain.MONOTONIC, "realtime": ClockDomain.REALTIME_SYNCED}
_FRAME_BYTES_MAX: Final = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a producer declares of its frames; None for what it does not declare."""

    clock_domain: ClockDomain | None = None
    frame_bytes: int | None = None
    is_firm: bool = True
    """Whether every frame has this size. Otherwise frames may be smaller, and fit even where the largest does not."""

    def message(self, stream_id: int, client_id: int) -> StreamDeclaration:
        """The message for the driver."""
        return StreamDeclaration(
            stream_id=stream_id,
            client_id=client_id,
            clock_domain=self.clock_domain,
            frame_bytes=self.frame_bytes,
            nslots=None,
        )

    def check(self, stream_id: int, longest_payload: int) -> None:
        """Raise ``FrameTooLarge`` if no frame would fit the regions that were granted."""
        if self.is_firm and self.frame_bytes is not None and self.frame_bytes > longest_payload:
            what = "no pool of the stream has slots that large"
            raise FrameTooLarge(what, stream=stream_id, frame_bytes=self.frame_bytes, limit_bytes=longest_payload)


def declaration_of(
    stream_id: int,
    clock: str | None,
    shape: Sequence[int] | None,
    dtype: str | None,
    frame_bytes_max: int | None = None,
) -> Declaration | None:
    """The declaration from a producer's arguments; None if they declare nothing. A shape overrides ``frame_bytes_max``.

    Raises ``InvalidValue`` for a clock without a name, ``FrameTooLarge`` for frames that no region can hold.
    """
    if clock is not None and clock not in CLOCKS:
        raise InvalidValue(f"one of {', '.join(CLOCKS)}", stream=stream_id, clock=clock)
    frame_bytes = _frame_bytes(shape, dtype)
    if frame_bytes is not None and frame_bytes > _FRAME_BYTES_MAX:
        what = "no pool can have slots that large"
        raise FrameTooLarge(what, stream=stream_id, frame_bytes=frame_bytes, limit_bytes=_FRAME_BYTES_MAX)
    is_firm = frame_bytes is not None
    if not is_firm and frame_bytes_max is not None and frame_bytes_max <= _FRAME_BYTES_MAX:
        frame_bytes = frame_bytes_max
    if clock is None and frame_bytes is None:
        return None
    domain = None if clock is None else CLOCKS[clock]
    return Declaration(clock_domain=domain, frame_bytes=frame_bytes, is_firm=is_firm)


def _frame_bytes(shape: Sequence[int] | None, dtype: str | None) -> int | None:
    if shape is None or dtype is None or any(length < 0 for length in shape):
        return None
    try:
        return math.prod(shape) * np.dtype(dtype).itemsize
    except TypeError:
        # It is not the name of a dtype. The producer refuses it with an error that lists the names.
        return None
