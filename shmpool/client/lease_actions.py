# SPDX-License-Identifier: Apache-2.0
"""The actions that a lease asks of its holder, who carries them out in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from framegate.schema.control import StreamDeclaration
from framegate.schema.driver import (
    ResponseCode,
    ShmAttachRequest,
    ShmAttachResponse,
    ShmDetachRequest,
    ShmLeaseKeepalive,
)


@dataclass(frozen=True, slots=True)
class Send:
    """Send this message on the control stream."""

    message: ShmAttachRequest | ShmLeaseKeepalive | ShmDetachRequest | StreamDeclaration


@dataclass(frozen=True, slots=True)
class Gained:
    """The lease is granted: map the regions that the answer names."""

    response: ShmAttachResponse


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone: stop using the regions now."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The driver refused. The lease asks again after the back-off, unless its owner gives up."""

    code: ResponseCode
    reason: str


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The driver is still handling an earlier request, such as one for large regions. The lease goes on asking."""


Action: TypeAlias = Send | Gained | Lost | Refused | UnderWay
