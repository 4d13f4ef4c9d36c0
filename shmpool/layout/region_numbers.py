# SPDX-License-Identifier: Apache-2.0
"""The numbers that every region has in common (PROTOCOL 3.2 and 3.3). Whoever needs only these loads no numpy."""

from __future__ import annotations

from typing import Final

MAGIC: Final = 0x544F_504C_5348_4D31
LAYOUT_VERSION: Final = 1
SUPERBLOCK_BYTES: Final = 64
SLOT_BYTES: Final = 256
"""A header slot."""
