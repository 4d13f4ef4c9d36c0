# SPDX-License-Identifier: Apache-2.0
"""What the lease authority asks for, and what it is told about regions. Values only; the agent carries them out."""

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
    """The ring and the pools that a stream is given."""

    header_nslots: int
    pools: tuple[PoolShape, ...]
    fits_frames: bool = False
    """Whether a producer that declares its frames gets a pool of their size instead."""
    has_own_slots: bool = True
    """Whether ``header_nslots`` was chosen, and holds whatever the frames are."""


@dataclass(frozen=True, slots=True)
class PoolRegion:
    """One pool's file, as it is announced."""

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


# --- what the authority asks for ----------------------------------------------------------------------------


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

    ``is_periodic``: it comes again by itself, so it may be left out when the streams are blocked.
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
    """Nobody will write into it before the next epoch, so it need not have its memory yet."""
    prefault: bool


@dataclass(frozen=True, slots=True)
class Retire:
    """Unlink the regions of an epoch. Whoever has them mapped keeps them mapped."""

    stream_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Collect:
    """Remove what dead processes left. ``served`` are the epochs that must stay, by stream."""

    served: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Publish the end of the driver, then end."""

    message: ShmDriverShutdown


Action: TypeAlias = Respond | Revoke | Announce | Provision | Retire | Collect | Shutdown


# --- what the authority is told about regions ---------------------------------------------------------------


class ProvisionProblem(Enum):
    """Why there are no regions."""

    NO_ROOM = auto()
    """Collecting what nobody needs may help: tried once more after that."""
    NO_HUGEPAGES = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Provisioned:
    """The regions are there, whole and synced."""

    regions: Regions


@dataclass(frozen=True, slots=True)
class ProvisionFailed:
    """The regions are not there, and nothing of them is left."""

    stream_id: int
    epoch: int
    problem: ProvisionProblem
    reason: str
