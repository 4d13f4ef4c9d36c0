# SPDX-License-Identifier: Apache-2.0
"""Addresses of journal servers: ``grpc://HOST:PORT`` or ``grpc+tls://HOST:PORT``, with ``/DIR`` if a server has several
journals.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import Final, Self
from urllib.parse import urlsplit

from framegate.schema.errors import EndpointRefused

_SCHEMES: Final = {"grpc": False, "grpc+tcp": False, "grpc+tls": True}
_TEXT_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of one server, and perhaps of one of its journals."""

    host: str
    port: int
    is_tls: bool = False
    journal: str | None = None
    """A directory on the server's host; None if the server has only one journal."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address. Raises EndpointRefused.

        >>> Endpoint.parse("grpc+tls://rig-7:7443/data/joined").journal
        '/data/joined'
        """
        try:
            parts = urlsplit(text)
            is_tls, host, port = _SCHEMES[parts.scheme], parts.hostname, parts.port
        except (ValueError, KeyError):
            raise _refused(text) from None
        # Names and tokens must not appear in a text that is shown in plans and logs.
        if not host or port is None or parts.username is not None or parts.query or parts.fragment:
            raise _refused(text)
        if len(text) > _TEXT_MAX or not text.isprintable() or "," in text or " " in text:
            raise _refused(text)
        return cls(host, port, is_tls, parts.path if parts.path not in ("", "/") else None)

    @property
    def location(self) -> str:
        """The address as Arrow spells it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'grpc+tls' if self.is_tls else 'grpc+tcp'}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can connect there. A name other than ``localhost`` may mean any host."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def at(self, port: int) -> Self:
        """The same address at another port, such as the one chosen for port 0."""
        return replace(self, port=port)

    def __str__(self) -> str:
        return f"{self.location.replace('+tcp', '', 1)}{self.journal or ''}"


def _refused(text: str) -> EndpointRefused:
    shown = text.rpartition("@")[2][:200]  # The text before an @ may be a secret.
    return EndpointRefused("not an address of a journal server", have=shown, want="grpc[+tls]://HOST:PORT[/DIR]")
