# SPDX-License-Identifier: Apache-2.0
"""The connections of a server as the kernel sees them: how much came through each, and how to end one.

Arrow gives a server no means to end a stream whose client does not read: the thread waits inside gRPC for space. But
the connection is an open file of this process, and gRPC names its peer. If it is shut down there, every call on it ends
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
"""The fields ``tcpi_bytes_acked`` and ``tcpi_bytes_received`` of the kernel's answer."""


class Traffic(NamedTuple):
    """How many bytes a connection has carried since its beginning."""

    taken_bytes: int
    """Bytes that the peer has taken."""
    received_bytes: int
    """Bytes that came from the peer."""


def peer_address(peer: str) -> Address | None:
    """The address and port in gRPC's name of a peer; None if it has none.

    >>> peer_address("ipv6:%5B::1%5D:7443")
    ('::1', 7443)
    """
    family, _, rest = peer.partition(":")
    host, _, port = unquote(rest).rpartition(":")
    if family not in _FAMILIES or not (port.isascii() and port.isdigit()):
        return None
    return _plain(host.strip("[]")), int(port)


def end_connections(peer: str) -> int:
    """Shut down the connections of this process to a peer; return how many there were."""
    wanted = peer_address(peer)
    return 0 if wanted is None else end_all({wanted})


def end_all(wanted: Collection[Address]) -> int:
    """Shut down the connections to several peers; return how many there were."""
    ended = 0
    for connection, other_end in _connections() if wanted else ():
        if other_end in wanted:
            with suppress(OSError):  # The connection has just ended by itself.
                connection.shutdown(socket.SHUT_RDWR)
                ended += 1
    return ended


def traffic(port: int) -> dict[Address, Traffic]:
    """The traffic of every connection to a port of this process, by peer."""
    found = dict[Address, Traffic]()
    for connection, other_end in _connections():
        with suppress(OSError):
            if connection.getsockname()[1] == port:
                told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
                found[other_end] = Traffic(*_TCP_INFO.unpack(told))
    return found


def _connections() -> Iterator[tuple[socket.socket, Address]]:
    """The open connections. Each is valid until the next one is asked for."""
    for descriptor in [int(each.name) for each in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # It has no peer, or was just closed.
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            # Use a duplicate: the number itself belongs to gRPC, which may close it at any moment and give it to
            # another file.
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                if connection.family in _INTERNET:
                    yield connection, _other_end(connection)


def _other_end(connection: socket.socket) -> Address:
    host, port = connection.getpeername()[:2]
    return _plain(host), port


def _plain(host: str) -> str:
    """One text for each address: a socket for both families shows IPv4 addresses as IPv6."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)
