# SPDX-License-Identifier: Apache-2.0
"""How a client reaches journal servers. Secrets are given as file names, so the value may be shown and pickled."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.joinbarrier.flight.token import Token, read_token
from framegate.schema.errors import FileMissing

TIMEOUT_S: Final = 10.0
_CERTIFICATE_BYTES_MAX: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to reach the servers of a query. The files are those of the asking host, driver or executor."""

    token_file: str | None = None
    ca_file: str | None = None
    """The authorities that may sign a server's certificate; None: those of the system."""
    tls_name: str | None = None
    """The name that the certificate must have, if it is not the address."""
    timeout_s: float = TIMEOUT_S
    """How long a server may be silent or away before that is an error."""
    is_flight_forced: bool = False
    """Whether to read through the server even if the journal lies on the same host."""

    def token(self, environment: Mapping[str, str] = os.environ) -> Token | None:
        """Read the token; None if none is configured. Raises FileMissing or TokenMissing."""
        return read_token(None if self.token_file is None else Path(self.token_file), environment)

    def authorities(self) -> bytes | None:
        """Read the authorities; None for those of the system. Raises FileMissing."""
        return None if self.ca_file is None else read_pem(Path(self.ca_file))


def read_pem(path: Path) -> bytes:
    """Read a certificate or key. Raises FileMissing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
            return opened.read(_CERTIFICATE_BYTES_MAX)
    except OSError as refused:
        raise FileMissing(f"it cannot be read: {refused.strerror}", path=path) from None
