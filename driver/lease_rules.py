# SPDX-License-Identifier: Apache-2.0
"""The rules of the lease authority: the configuration in nanoseconds and plain values, and the bounds of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from framegate.driver.configuration import DriverConfig, ProfileSection
from framegate.driver.lease_actions import PoolShape, StreamProfile
from framegate.schema.config.types import IdRange

_NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of the authority's tables. A request beyond a bound is refused with a reason, and counted."""

    leases: int = 4096
    streams: int = 1024
    pending_attaches: int = 256
    """Requests that wait for regions to be made, over all streams."""
    cooling_node_ids: int = 65_536
    """Node ids that are cooling down. Beyond this, the oldest one may be used again early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRules:
    """The settings of the authority. They do not change while it runs."""

    default_profile: StreamProfile
    static_profiles: Mapping[int, StreamProfile] = field(default_factory=dict)
    realtime_streams: frozenset[int] = frozenset()
    """The streams whose frames have times of the realtime clock if their producer does not say."""
    allow_dynamic_streams: bool = True
    dynamic_ids: IdRange | None = None
    descriptor_ids: IdRange | None = None
    control_ids: IdRange | None = None
    lease_ns: int = 3_000_000_000
    announce_period_ns: int = 1_000_000_000
    epoch_gc_enabled: bool = True
    epoch_gc_keep: int = 2
    epoch_gc_min_age_ns: int = 3_000_000_000
    shutdown_timeout_ns: int = 2_000_000_000
    shutdown_token: str = field(default="", repr=False)
    node_id_cooldown_ns: int = 1_000_000_000
    prefault: bool = True
    require_hugepages: bool = False
    has_hugepages: bool = False
    """Whether the base directory is on huge pages. Then all regions are, otherwise none."""
    limits: Limits = field(default_factory=Limits)
    base_dir: str = ""
    """The base directory, which is named to another driver that finds this one."""


def rules_of(config: DriverConfig, *, has_hugepages: bool) -> LeaseRules:
    """The rules of a checked configuration."""
    driver, policies = config.driver, config.policies
    profiles = {name: _profile(section) for name, section in config.profiles.items()}
    return LeaseRules(
        default_profile=profiles[config.default_profile],
        static_profiles={stream.stream_id: profiles[stream.profile] for stream in config.streams.values()},
        realtime_streams=frozenset(each.stream_id for each in config.streams.values() if each.clock == "realtime"),
        allow_dynamic_streams=policies.allow_dynamic_streams,
        dynamic_ids=driver.stream_id_range,
        descriptor_ids=driver.descriptor_stream_id_range,
        control_ids=driver.control_stream_id_range,
        lease_ns=policies.lease_keepalive_interval_ms * policies.lease_expiry_grace_intervals * _NS_PER_MS,
        announce_period_ns=policies.announce_period_ms * _NS_PER_MS,
        epoch_gc_enabled=policies.epoch_gc_enabled,
        epoch_gc_keep=max(1, policies.epoch_gc_keep),
        epoch_gc_min_age_ns=policies.epoch_gc_min_age_ns,
        shutdown_timeout_ns=policies.shutdown_timeout_ms * _NS_PER_MS,
        shutdown_token=policies.shutdown_token,
        node_id_cooldown_ns=policies.node_id_reuse_cooldown_ms * _NS_PER_MS,
        prefault=policies.prefault_shm,
        require_hugepages=config.shm.require_hugepages,
        has_hugepages=has_hugepages,
        base_dir=config.shm.base_dir,
    )


def _profile(section: ProfileSection) -> StreamProfile:
    pools = tuple(PoolShape(pool.pool_id, pool.stride_bytes) for pool in section.payload_pools)
    return StreamProfile(section.header_nslots, pools, section.fit_frames, section.has_own_slots)
