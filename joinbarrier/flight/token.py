# SPDX-License-Identifier: Apache-2.0
"""The bearer token: one secret for all journals of a server. It comes from a file or from the environment, never from a
command line or an option, which others can read.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from framegate.schema.errors import FileMissing, TokenMissing, TokenRefused

VARIABLE: Final = "FRAMEGATE_FLIGHT_TOKEN"
HEADER: Final = "authorization"
_SCHEME: Final = "Bearer "
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{8,1024}")
_BYTES_MAX: Final = 4096


class Token:
    """A secret that is never printed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Token(...)"

    __str__ = __repr__

    def header(self) -> tuple[bytes, bytes]:
        """The header that a client sends with every call."""
        return HEADER.encode(), f"{_SCHEME}{self._text}".encode()

    def check(self, given: Sequence[str | bytes]) -> None:
        """Check all values of a request's token header. Raises TokenRefused."""
        if len(given) != 1:
            raise TokenRefused("the request has no token" if not given else "the request has several tokens")
        have = given[0].encode(errors="replace") if isinstance(given[0], str) else given[0]
        # Compare in constant time: the duration must not tell how much of a guess was right.
        if not hmac.compare_digest(have, self.header()[1]):
            raise TokenRefused("the request has another token")


def read_token(file: Path | None, environment: Mapping[str, str] = os.environ) -> Token | None:
    """Read the token from the file, else from FRAMEGATE_FLIGHT_TOKEN; None if there is neither. Raises FileMissing or
    TokenMissing.
    """
    if file is not None:
        return _checked(_content(file), str(file))
    text = environment.get(VARIABLE)
    return None if text is None else _checked(text, VARIABLE)


def _content(file: Path) -> str:
    try:
        # Links are followed, because containers mount secrets as links. A pipe is not waited for.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
            return opened.read(_BYTES_MAX).decode(errors="replace")
    except OSError as refused:
        raise FileMissing(f"the token cannot be read: {refused.strerror}", path=file) from None


def _checked(text: str, source: str) -> Token:
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise TokenMissing(
            "not a token: 8 to 1024 letters, digits and any of ._~+/=-",
            source=source,
            hint="Make one with `openssl rand -hex 32`.",
        )
    return Token(token)
