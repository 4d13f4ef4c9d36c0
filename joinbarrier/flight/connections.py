# SPDX-License-Identifier: Apache-2.0
"""The connections of a server, as the kernel sees them: what came by each of them, and how one is ended.

Arrow gives a server no way to end a stream whose client does not read: the thread waits inside gRPC for room. But the
connection is an open file of this process, and gRPC says who its other end is; shut down there, every call on it ends
as if the client had gone.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

Address = tuple[str, int]
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_FAMILIES: Final = ("ipv4", "ipv6")
_TCP_INFO: Final = struct.Struct("120x2Q")
"""Of what the kernel tells of a connection: ``tcpi_bytes_acked`` and ``tcpi_bytes_received``."""


class Traffic(NamedTuple):
    """What has gone over a connection since its beginning."""

    taken_bytes: int
    """By the other end."""
    received_bytes: int
    """From it."""


def peer_address(peer: str) -> Address | None:
    """Address and port of what gRPC calls a peer; None for one without.

    >>> peer_address("ipv6:%5B::1%5D:7443")
    ('::1', 7443)
    """
    family, _, rest = peer.partition(":")
    host, _, port = unquote(rest).rpartition(":")
    if family not in _FAMILIES or not (port.isascii() and port.isdigit()):
        return None
    return _plain(host.strip("[]")), int(port)


def end_connections(peer: str) -> int:
    """Shut down the connections of this process whose other end is ``peer``; how many there were."""
    wanted = peer_address(peer)
    return 0 if wanted is None else end_all({wanted})


def end_all(wanted: Collection[Address]) -> int:
    """The same for several other ends."""
    ended = 0
    for connection, other_end in _connections() if wanted else ():
        if other_end in wanted:
            with suppress(OSError):  # It has just ended by itself.
                connection.shutdown(socket.SHUT_RDWR)
                ended += 1
    return ended


def traffic(port: int) -> dict[Address, Traffic]:
    """Of every connection to a port of this process, by its other end."""
    found = dict[Address, Traffic]()
    for connection, other_end in _connections():
        with suppress(OSError):
            if connection.getsockname()[1] == port:
                told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
                found[other_end] = Traffic(*_TCP_INFO.unpack(told))
    return found


def _connections() -> Iterator[tuple[socket.socket, Address]]:
    """Those that are open, each until the next one is asked for."""
    for descriptor in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # One without another end, or closed a moment ago.
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            # A duplicate: the number itself belongs to gRPC, which may close it at any moment, and then it is another
            # file's.
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                if connection.family in _INTERNET:
                    yield connection, _other_end(connection)


def _other_end(connection: socket.socket) -> Address:
    host, port = connection.getpeername()[:2]
    return _plain(host), port


def _plain(host: str) -> str:
    """One text for one address: a socket for both families shows IPv4 as a part of IPv6."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)
