# SPDX-License-Identifier: Apache-2.0
"""The channel of the in-memory network: a parsed URI with those parameters of Aeron's that change what a test sees.

These are ``term-length``, ``mtu``, ``tether`` and the three that place a publication inside its position space
(``init-term-id``, ``term-id``, ``term-offset``). All other parameters are accepted and ignored, so a channel written
for Aeron works unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from framegate.schema.errors import ChannelRefused

FRAME_HEADER_BYTES: Final = 32
FRAME_ALIGNMENT: Final = 32
TERM_BYTES_MIN: Final = 64 * 1024
TERM_BYTES_MAX: Final = 1024 * 1024 * 1024
MTU_MAX: Final = 65504

_SIZE: Final = re.compile(r"(\d+)([kmg]?)", re.ASCII | re.IGNORECASE)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_PLACE: Final = ("init-term-id", "term-id", "term-offset")


@dataclass(frozen=True, slots=True)
class Channel:
    """A parsed URI."""

    uri: str
    wire: str
    """What two channels must share to be connected: the medium, and the endpoint if there is one."""
    source: str
    """The sender's address, as a subscriber sees it."""
    term_bytes: int
    mtu: int
    is_tethered: bool
    start_position: int


def parse_channel(uri: str, term_bytes: int, mtu: int) -> Channel:
    """Parse ``uri``; ``term_bytes`` and ``mtu`` are used if it names none. Raises ChannelRefused.

    >>> parse_channel("aeron:ipc?term-length=128k|tether=false", 65536, 1408).term_bytes
    131072
    """
    medium, parameters = _split(uri)
    terms = _size(uri, parameters.get("term-length"), term_bytes)
    frame = _size(uri, parameters.get("mtu"), mtu)
    _check_sizes(uri, terms, frame)
    endpoint = parameters.get("endpoint", "")
    return Channel(
        uri=uri,
        wire=f"{medium}:{endpoint}",
        source="aeron:ipc" if medium == "ipc" else endpoint,
        term_bytes=terms,
        mtu=frame,
        is_tethered=parameters.get("tether", "true") != "false",
        start_position=_start_position(uri, parameters, terms),
    )


def _split(uri: str) -> tuple[str, dict[str, str]]:
    prefix, _, rest = uri.partition(":")
    medium, _, query = rest.partition("?")
    if prefix != "aeron" or medium not in ("ipc", "udp"):
        raise ChannelRefused("not a channel URI", channel=uri)
    parameters = dict[str, str]()
    for pair in filter(None, query.split("|")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ChannelRefused("a parameter has no value", channel=uri, parameter=key)
        parameters[key] = value
    if medium == "udp" and "endpoint" not in parameters:
        raise ChannelRefused("a UDP channel needs an endpoint", channel=uri)
    return medium, parameters


def _size(uri: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ChannelRefused("not a size in bytes, or with k, m or g", channel=uri, have=text)
    return int(found[1]) << _SHIFTS[found[2].lower()]


def _check_sizes(uri: str, term_bytes: int, mtu: int) -> None:
    if not TERM_BYTES_MIN <= term_bytes <= TERM_BYTES_MAX or term_bytes & (term_bytes - 1):
        raise ChannelRefused(
            "a term is a power of two",
            channel=uri,
            have_term_bytes=term_bytes,
            min_bytes=TERM_BYTES_MIN,
            max_bytes=TERM_BYTES_MAX,
        )
    if not FRAME_HEADER_BYTES < mtu <= MTU_MAX or mtu % FRAME_ALIGNMENT:
        raise ChannelRefused("an MTU is a multiple of 32", channel=uri, have_mtu_bytes=mtu, max_bytes=MTU_MAX)


def _start_position(uri: str, parameters: dict[str, str], term_bytes: int) -> int:
    given = [key for key in _PLACE if key in parameters]
    if not given:
        return 0
    if len(given) != len(_PLACE):
        raise ChannelRefused("a start position needs all of its parameters", channel=uri, have=",".join(given))
    try:
        first, term, offset = (int(parameters[key]) for key in _PLACE)
    except ValueError:
        raise ChannelRefused("term ids and offsets are integers", channel=uri) from None
    terms = (term - first) % 2**32  # Term ids are 32-bit and wrap.
    if terms >= 2**31 or not 0 <= offset < term_bytes or offset % FRAME_ALIGNMENT:
        raise ChannelRefused("the start position lies outside the stream", channel=uri)
    return terms * term_bytes + offset
