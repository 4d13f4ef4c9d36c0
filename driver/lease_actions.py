# SPDX-License-Identifier: Apache-2.0
"""The actions of the lease authority, and the results that it gets about regions. Values only: the agent acts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from framegate.schema.driver import ShmAttachResponse, ShmDetachResponse, ShmDriverShutdown, ShmLeaseRevoked
from framegate.schema.wire import ClockDomain, ConsumerConfig


@dataclass(frozen=True, slots=True)
class PoolShape:
    """One payload pool of a profile."""

    pool_id: int
    stride_bytes: int


@dataclass(frozen=True, slots=True)
class StreamProfile:
    """The ring and the pools of a stream."""

    header_nslots: int
    pools: tuple[PoolShape, ...]
    fits_frames: bool = False
    """Whether a producer that declares its frames gets a pool of their size instead."""
    has_own_slots: bool = True
    """Whether ``header_nslots`` was chosen, and holds for frames of every size."""


@dataclass(frozen=True, slots=True)
class PoolRegion:
    """The file of one pool, as it is announced."""

    pool_id: int
    stride_bytes: int
    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """The files of one epoch of a stream."""

    stream_id: int
    epoch: int
    header_nslots: int
    header_uri: str
    pools: tuple[PoolRegion, ...]


# --- actions of the authority -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer a client on the control stream."""

    message: ShmAttachResponse | ShmDetachResponse | ConsumerConfig


@dataclass(frozen=True, slots=True)
class Revoke:
    """Publish the end of a lease on the control stream."""

    message: ShmLeaseRevoked


@dataclass(frozen=True, slots=True)
class Announce:
    """Announce a stream, and refresh the activity of its regions.

    ``is_periodic``: the announce comes again by itself, so it may be left out while the streams are blocked.
    """

    regions: Regions
    producer_id: int
    is_periodic: bool = False
    clock_domain: ClockDomain = ClockDomain.MONOTONIC


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """Create the regions of an epoch; the answer is a ``Provisioned`` or a ``ProvisionFailed``."""

    stream_id: int
    epoch: int
    profile: StreamProfile
    require_hugepages: bool
    is_placeholder: bool
    """Whether nobody will write into it before the next epoch, so that it does not need its memory yet."""
    prefault: bool


@dataclass(frozen=True, slots=True)
class Retire:
    """Unlink the regions of an epoch. A process that has them mapped keeps its mapping."""

    stream_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Collect:
    """Remove what dead processes left. ``served`` are the epochs that must stay, by stream."""

    served: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Announce the end of the driver, then end."""

    message: ShmDriverShutdown


Action: TypeAlias = Respond | Revoke | Announce | Provision | Retire | Collect | Shutdown


# --- results about regions ----------------------------------------------------------------------------------


class ProvisionProblem(Enum):
    """Why regions could not be made."""

    NO_ROOM = auto()
    """There is no space. Removing what nobody needs may help, so it is tried once more after that."""
    NO_HUGEPAGES = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Provisioned:
    """The regions exist, complete and synced."""

    regions: Regions


@dataclass(frozen=True, slots=True)
class ProvisionFailed:
    """The regions could not be made, and nothing is left of them."""

    stream_id: int
    epoch: int
    problem: ProvisionProblem
    reason: str
