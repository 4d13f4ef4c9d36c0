# SPDX-License-Identifier: Apache-2.0
"""How far a replay has come: which time round, and how many messages of the file lie behind."""

from __future__ import annotations

from typing import Final, NamedTuple

from framegate.schema.errors import InvalidValue

_POSITION_BITS: Final = 40
POSITION_MAX: Final = (1 << _POSITION_BITS) - 1
LOOP_MAX: Final = (1 << 64 - _POSITION_BITS) - 1


class Place(NamedTuple):
    """Ordered as they are passed. A producer carries it as one number of 64 bits.

    >>> Place(1, 5) > Place(0, 9_000), Place.of(Place(3, 17).number)
    (True, Place(loop=3, position=17))
    """

    loop: int
    position: int

    @property
    def number(self) -> int:
        """For a producer. What is too far for it stands at the limit, and no checkpoint is taken there."""
        return min(self.loop, LOOP_MAX) << _POSITION_BITS | min(self.position, POSITION_MAX)

    @classmethod
    def of(cls, number: int) -> Place:
        """The place of a number. Raises InvalidValue for one at a limit: it may stand for many."""
        found = cls(number >> _POSITION_BITS, number & POSITION_MAX)
        if found.loop >= LOOP_MAX or found.position >= POSITION_MAX:
            raise InvalidValue("too far for a checkpoint", loop=found.loop, position=found.position)
        return found


START: Final = Place(0, 0)
