# SPDX-License-Identifier: Apache-2.0
"""Fits a stream's regions to its frames: one pool for the frames that a producer declares, and enough slots.

Few slots would give a slow reader too little time, and many large slots would fill the memory. So a ring has as many
slots as 16 MiB hold, from 128 to 4096.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from framegate.driver.lease_actions import PoolShape, StreamProfile

STREAM_BYTES: Final = 16 * 1024 * 1024
SLOTS_MIN: Final = 128
SLOTS_MAX: Final = 4096
STRIDE_MIN: Final = 64
STRIDE_MAX: Final = 1 << 31
_DECLARED_SLOTS_MAX: Final = 65_536
_POOL_ID: Final = 1


def default_slots(frame_bytes: int) -> int:
    """The default number of slots of a stream whose slots take ``frame_bytes`` each.

    >>> [default_slots(bytes) for bytes in (64, 4096, 65_536, 1 << 20, 1 << 30)]
    [4096, 4096, 256, 128, 128]
    """
    fitting = max(STREAM_BYTES // frame_bytes, 1)
    return min(max(1 << (fitting.bit_length() - 1), SLOTS_MIN), SLOTS_MAX)


def stride_of(frame_bytes: int) -> int:
    """The stride of a pool for frames of this many bytes: the next power of two, at least 64.

    >>> [stride_of(bytes) for bytes in (0, 48, 64, 65, 640 * 1024)]
    [64, 64, 64, 128, 1048576]
    """
    return int(max(STRIDE_MIN, 1 << max(frame_bytes - 1, 0).bit_length()))


def fitted(profile: StreamProfile, frame_bytes: int | None, nslots: int | None = None) -> StreamProfile:
    """The profile for a producer with this declaration, if the profile allows one.

    Impossible values count as not declared: frames above 2 GiB, and slots that are not a power of two up to 65536.
    """
    if not profile.fits_frames:
        return profile
    pools, slots = profile.pools, profile.header_nslots
    if frame_bytes is not None and frame_bytes <= STRIDE_MAX:
        pools = (PoolShape(_POOL_ID, stride_of(frame_bytes)),)
    if not profile.has_own_slots:
        is_sound = nslots is not None and 2 <= nslots <= _DECLARED_SLOTS_MAX and nslots.bit_count() == 1
        slots = nslots if nslots and is_sound else default_slots(sum(pool.stride_bytes for pool in pools))
    return replace(profile, pools=pools, header_nslots=slots)
