# SPDX-License-Identifier: Apache-2.0
"""Addresses of journal servers: ``grpc://HOST:PORT``, ``grpc+tls://HOST:PORT``, and ``/DIR`` of several journals."""

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
    """One server, and perhaps one of its journals."""

    host: str
    port: int
    is_tls: bool = False
    journal: str | None = None
    """A directory of the server's host; None where it serves only one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises EndpointRefused.

        >>> Endpoint.parse("grpc+tls://rig-7:7443/data/joined").journal
        '/data/joined'
        """
        try:
            parts = urlsplit(text)
            is_tls, host, port = _SCHEMES[parts.scheme], parts.hostname, parts.port
        except (ValueError, KeyError):
            raise _refused(text) from None
        # Nobody's name or token belongs into a text that is shown in plans and logs.
        if not host or port is None or parts.username is not None or parts.query or parts.fragment:
            raise _refused(text)
        if len(text) > _TEXT_MAX or not text.isprintable() or "," in text or " " in text:
            raise _refused(text)
        return cls(host, port, is_tls, parts.path if parts.path not in ("", "/") else None)

    @property
    def location(self) -> str:
        """As Arrow writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'grpc+tls' if self.is_tls else 'grpc+tcp'}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this host can come there. A name other than ``localhost`` may mean anything."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def at(self, port: int) -> Self:
        """The same at another port: the one that was given for 0."""
        return replace(self, port=port)

    def __str__(self) -> str:
        return f"{self.location.replace('+tcp', '', 1)}{self.journal or ''}"


def _refused(text: str) -> EndpointRefused:
    shown = text.rpartition("@")[2][:200]  # What stands before an @ may be a secret.
    return EndpointRefused("not an address of a journal server", have=shown, want="grpc[+tls]://HOST:PORT[/DIR]")
