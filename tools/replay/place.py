# SPDX-License-Identifier: Apache-2.0
"""The place of a replay: how often it has been through the file, and how many messages it has read this time."""

from __future__ import annotations

from typing import Final, NamedTuple

from framegate.schema.errors import InvalidValue

_POSITION_BITS: Final = 40
POSITION_MAX: Final = (1 << _POSITION_BITS) - 1
LOOP_MAX: Final = (1 << 64 - _POSITION_BITS) - 1


class Place(NamedTuple):
    """A place. Places are ordered as they are passed. A producer carries a place as one number of 64 bits.

    >>> Place(1, 5) > Place(0, 9_000), Place.of(Place(3, 17).number)
    (True, Place(loop=3, position=17))
    """

    loop: int
    position: int

    @property
    def number(self) -> int:
        """The number for a producer. A place too far for it becomes the limit, and no checkpoint is taken there."""
        return min(self.loop, LOOP_MAX) << _POSITION_BITS | min(self.position, POSITION_MAX)

    @classmethod
    def of(cls, number: int) -> Place:
        """The place of a number. Raises InvalidValue for one at a limit, which may stand for many places."""
        found = cls(number >> _POSITION_BITS, number & POSITION_MAX)
        if found.loop >= LOOP_MAX or found.position >= POSITION_MAX:
            raise InvalidValue("too far for a checkpoint", loop=found.loop, position=found.position)
        return found


START: Final = Place(0, 0)
