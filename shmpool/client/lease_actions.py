# SPDX-License-Identifier: Apache-2.0
"""What a lease asks its holder to do, in the order in which it is given."""

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
    """Put this message on the control stream."""

    message: ShmAttachRequest | ShmLeaseKeepalive | ShmDetachRequest | StreamDeclaration


@dataclass(frozen=True, slots=True)
class Gained:
    """The lease is held: map what the answer names."""

    response: ShmAttachResponse


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone: stop using the regions now."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The driver said no. It is asked again after the back-off, unless the owner gives up."""

    code: ResponseCode
    reason: str


@dataclass(frozen=True, slots=True)
class UnderWay:
    """The driver has an earlier request in hand, as when it makes large regions. It is asked again meanwhile."""


Action: TypeAlias = Send | Gained | Lost | Refused | UnderWay
