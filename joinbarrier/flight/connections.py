# SPDX-License-Identifier: Apache-2.0
"""Ending the connection of one client from the server's side.

Arrow gives a server no way to end a stream whose client does not read: the thread waits inside gRPC for room. But the
connection is an open file of this process, and gRPC says who its other end is; shut down there, every call on it ends
as if the client had gone.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

Address = tuple[str, int]
_INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_FAMILIES: Final = ("ipv4", "ipv6")


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
    wanted, ended = peer_address(peer), 0
    for entry in Path("/proc/self/fd").iterdir() if wanted is not None else ():
        with suppress(OSError):  # One without a peer, or closed a moment ago.
            if stat.S_ISSOCK(entry.stat().st_mode):
                ended += _end(int(entry.name), wanted)
    return ended


def _end(descriptor: int, wanted: Address | None) -> int:
    # A duplicate: the number itself belongs to gRPC, which may close it at any moment, and then it is another file's.
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family not in _INTERNET or _other_end(connection) != wanted:
            return 0
        connection.shutdown(socket.SHUT_RDWR)
        return 1


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
