# SPDX-License-Identifier: Apache-2.0
"""The Aeron channels and streams of a client, and what each carries (PROTOCOL 7), with the protocol's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_CHANNEL: Final = "aeron:ipc?term-length=4m"
AERON_STREAM_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """The streams on which a client sends and listens."""

    channel: str = DEFAULT_CHANNEL
    control: int = 1000
    announce: int = 1001
    descriptor: int = 1100
    qos: int = 1200
    metadata: int = 1300


def untethered(channel: str) -> str:
    """The channel for a subscriber that must never block a sender.

    >>> untethered("aeron:ipc?term-length=4m")
    'aeron:ipc?term-length=4m|tether=false'
    >>> untethered("aeron:ipc")
    'aeron:ipc?tether=false'
    """
    if "tether=" in channel:
        return channel
    return f"{channel}{'|' if '?' in channel else '?'}tether=false"


def is_of_this_host(channel: str) -> bool:
    """Whether a channel stays within this host. Every message that names shared memory must.

    >>> is_of_this_host("aeron:ipc?term-length=64k"), is_of_this_host("aeron:udp?endpoint=h:1")
    (True, False)
    """
    return channel == "aeron:ipc" or channel.startswith("aeron:ipc?")
