# SPDX-License-Identifier: Apache-2.0
"""The driver's configuration: the keys, their defaults, and the built-in profile that needs no file.

A file that defines streams gets the defaults of the shared-memory protocol: no dynamic streams unless it asks for them.
Without ``[streams]`` the driver serves every client with dynamic streams 10000-29999.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from framegate.driver.checkpoint_section import CheckpointSection, wrong_pipelines
from framegate.driver.frame_fit import STRIDE_MAX, default_slots, stride_of
from framegate.driver.options import DriverOptions
from framegate.schema.config.loading import load
from framegate.schema.config.settings import ClientSettings, config_path, default_base_dir, option
from framegate.schema.config.toml_file import KeyPath
from framegate.schema.config.types import (
    BUILT_IN_STREAMS,
    U32,
    U64,
    AeronStream,
    Conflict,
    Directory,
    EnvironmentName,
    FileMode,
    IdRange,
    Name,
    OptionalIdRange,
    PositiveU32,
    PowerOfTwo,
    PowerOfTwoSize,
    Section,
    refuse,
)
from framegate.schema.errors import WrongType
from pydantic import Field, model_validator

CHANNEL: Final = "aeron:ipc?term-length=4m"
BUILT_IN_STRIDES: Final = (64 * 1024, 1024 * 1024)
_FAMILY_SLOTS: Final = 1024
_NS_PER_MS: Final = 1_000_000
_POOL_ID_MAX: Final = 65_535
_Id: TypeAlias = tuple[KeyPath, int]


class DriverSection(Section):
    """``[driver]``: the driver's identity, and where it listens and announces.

    ``stream_id_range`` is for dynamic streams. The other two are for streams of a consumer's own, which are declined
    without a range. The ranges must not overlap each other, nor contain the driver's own ids or those of configured
    streams, and should differ from the ranges of other drivers.
    """

    instance_id: Annotated[str, Field(min_length=1, max_length=256)] = "driver-01"
    aeron_dir: Annotated[Directory | None, EnvironmentName("AERON_DIR")] = None
    control_channel: Annotated[str, Field(pattern="^aeron:")] = CHANNEL
    control_stream_id: U32 = 1000
    announce_channel: Annotated[str, Field(pattern="^aeron:")] = Field(
        default_factory=lambda data: data["control_channel"]
    )
    announce_stream_id: U32 = 1001
    qos_channel: Annotated[str, Field(pattern="^aeron:")] = CHANNEL
    qos_stream_id: U32 = 1200
    stream_id_range: OptionalIdRange = None
    descriptor_stream_id_range: OptionalIdRange = None
    control_stream_id_range: OptionalIdRange = None


class ShmSection(Section):
    """``[shm]``: where the regions are, and who may open them.

    Files are stored in ``<base_dir>/tensorpool-<user>/<namespace>/<stream_id>/<epoch>/``. One driver serves a base
    directory and namespace; a second one is refused. ``permissions_mode`` 660 shares the files with the group: folders
    are then 2770, else 700. ``base_dir`` must be inside one of ``allowed_base_dirs`` after links are resolved. With
    ``require_hugepages`` the base directory must be a hugetlbfs mount. ``page_size_bytes`` is accepted for
    compatibility, and changes no size.
    """

    base_dir: Annotated[Directory, EnvironmentName("BASE_DIR")] = Field(default_factory=default_base_dir)
    namespace: Name = "default"
    require_hugepages: bool = False
    page_size_bytes: PowerOfTwo = 4096
    permissions_mode: FileMode = "600"
    allowed_base_dirs: list[Directory] = Field(default_factory=lambda data: [data["base_dir"]])

    @property
    def mode(self) -> int:
        """``permissions_mode`` as a number for ``open``."""
        return int(self.permissions_mode, 8)


class PoliciesSection(Section):
    """``[policies]``: leases, announces and clean-up.

    - A lease ends ``lease_keepalive_interval_ms * lease_expiry_grace_intervals`` after its last keepalive.
    - ``announce_period_ms`` is also how often the activity of regions is refreshed. Readers consider an owner dead
      after 3 to 5 of *their own* periods: if this value is above 3000, give it to the clients too
      (``client.announce_period_ms``).
    - ``prefault_shm`` touches a producer's regions before its lease is granted. ``mlock_shm`` locks them in memory; if
      that fails, the attach fails.
    - ``epoch_gc_keep`` is how many epochs of a served stream keep their files; the current one always does.
      ``epoch_gc_min_age_ns`` is how long an unused epoch, or a dynamic stream without leases, is kept. It is also how
      often the driver looks for files that dead processes left; ``epoch_gc_on_startup`` adds a look at the start.
    - ``cleanup_shm_on_exit`` is true here, and false in other drivers of this protocol: after a clean stop nothing is
      left in the base directory. ``reuse_existing_shm`` is accepted and changes nothing: every restart raises the
      epoch.
    - With an empty ``shutdown_token`` requests to shut down are ignored. With a token, an accepted request drains for
      ``shutdown_timeout_ms``.
    - ``node_id_reuse_cooldown_ms`` is how long a node id stays unused before another client may have it.
    """

    allow_dynamic_streams: bool = False
    default_profile: str = ""
    announce_period_ms: PositiveU32 = 1000
    lease_keepalive_interval_ms: PositiveU32 = 1000
    lease_expiry_grace_intervals: PositiveU32 = 3
    prefault_shm: bool = True
    mlock_shm: bool = False
    reuse_existing_shm: bool = False
    cleanup_shm_on_exit: bool = True
    epoch_gc_enabled: bool = True
    epoch_gc_keep: U32 = 2
    epoch_gc_min_age_ns: U64 = Field(default_factory=lambda data: 3 * data["announce_period_ms"] * _NS_PER_MS)
    epoch_gc_on_startup: bool = False
    shutdown_timeout_ms: U32 = 2000
    shutdown_token: str = Field(default="", repr=False)
    node_id_reuse_cooldown_ms: U32 = 1000


class PoolSection(Section):
    """One payload pool of a profile. Pool id 0 belongs to the header ring."""

    pool_id: Annotated[int, Field(ge=1, le=_POOL_ID_MAX)]
    stride_bytes: Annotated[PowerOfTwo, Field(ge=64)]


class ProfileSection(Section):
    """``[profiles.NAME]``: the ring and the pools of streams that use this profile.

    With ``fit_frames``, a stream whose producer declares its frames gets one pool of their size instead of
    ``payload_pools``. The pool has ``header_nslots`` slots if that is given, else as many as 16 MiB hold, from 128 to
    4096.
    """

    payload_pools: Annotated[list[PoolSection], Field(min_length=1)]
    fit_frames: bool = False
    header_nslots: PowerOfTwo = Field(default_factory=lambda data: _slots_if_none_are_given(data))

    @property
    def has_own_slots(self) -> bool:
        """Whether the number of slots was given, and holds for frames of every size."""
        return not self.fit_frames or "header_nslots" in self.model_fields_set

    def bytes_per_stream(self) -> int:
        """The payload memory of one stream, without the headers."""
        return self.header_nslots * sum(pool.stride_bytes for pool in self.payload_pools)


def _slots_if_none_are_given(profile: dict[str, Any]) -> int:
    if not profile.get("fit_frames"):
        return _FAMILY_SLOTS
    return default_slots(sum(pool.stride_bytes for pool in profile.get("payload_pools", ())) or 1)


class StreamSection(Section):
    """``[streams.NAME]``: a stream with a fixed id, and optionally a descriptor stream of its own.

    ``clock`` is the clock of its frames' timestamps if its producer does not declare one.

    The driver sends no descriptors. ``descriptor_stream`` keeps the id out of the driver's ranges, and clients that are
    given this file use it. Other clients are configured by their own ``descriptor_streams``.
    """

    stream_id: U32
    profile: str
    clock: Literal["monotonic", "realtime"] = "monotonic"
    descriptor_stream: AeronStream | None = None


class MediaDriverSection(Section):
    """``[media_driver]``: the bundled Aeron media driver, if this driver starts it."""

    threading: Literal["shared", "shared_network", "dedicated"] = "shared"
    idle: Literal["backoff", "yield", "sleep", "busy"] = "backoff"
    term_buffer_length: Annotated[PowerOfTwoSize, Field(ge=64 * 1024, le=1024 * 1024 * 1024)] = 4 * 1024 * 1024
    client_liveness_timeout_ms: PositiveU32 = 10_000
    driver_timeout_ms: PositiveU32 = 10_000


def _built_in_profiles() -> dict[str, ProfileSection]:
    pools = [PoolSection(pool_id=n, stride_bytes=stride) for n, stride in enumerate(BUILT_IN_STRIDES, start=1)]
    return {"default": ProfileSection(payload_pools=pools, fit_frames=True)}


class DriverConfig(Section):
    """A complete, checked driver.toml."""

    driver: DriverSection = Field(default_factory=DriverSection)
    shm: ShmSection = Field(default_factory=ShmSection)
    policies: PoliciesSection = Field(default_factory=PoliciesSection)
    profiles: Annotated[dict[str, ProfileSection], Field(min_length=1)] = Field(default_factory=_built_in_profiles)
    streams: dict[str, StreamSection] = Field(default_factory=dict)
    media_driver: MediaDriverSection = Field(default_factory=MediaDriverSection)
    client: ClientSettings = Field(default_factory=ClientSettings)
    checkpoint: dict[str, CheckpointSection] = Field(default_factory=dict)

    @property
    def default_profile(self) -> str:
        """The profile of dynamic streams: the configured one, else the first."""
        return self.policies.default_profile or next(iter(self.profiles))

    @model_validator(mode="before")
    @classmethod
    def _serve_whoever_asks(cls, data: Any) -> Any:
        return _with_dynamic_streams(data) if isinstance(data, dict) and not data.get("streams") else data

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        refuse([*_unknown_profiles(self), *_repeated_ids(self), *_overlaps(self), *_missing_range(self)])
        refuse(list(wrong_pipelines(self.checkpoint)))
        return self


def _with_dynamic_streams(data: dict[str, Any]) -> dict[str, Any]:
    driver, policies = data.get("driver", {}), data.get("policies", {})
    if not isinstance(driver, dict) or not isinstance(policies, dict):
        return data
    policies = {"allow_dynamic_streams": True, **policies}
    if policies["allow_dynamic_streams"]:
        driver = {"stream_id_range": BUILT_IN_STREAMS, **driver}
    return {**data, "driver": driver, "policies": policies}


def _unknown_profiles(config: DriverConfig) -> Iterator[Conflict]:
    known = ", ".join(config.profiles)
    users: dict[KeyPath, str] = {("streams", name, "profile"): each.profile for name, each in config.streams.items()}
    if config.policies.default_profile:
        users["policies", "default_profile"] = config.policies.default_profile
    for key, profile in users.items():
        if profile not in config.profiles:
            yield Conflict(key, ("profiles",), f'there is no profile "{profile}", only: {known}')


def _repeated_ids(config: DriverConfig) -> Iterator[Conflict]:
    streams: Iterable[_Id] = ((("streams", name, "stream_id"), each.stream_id) for name, each in config.streams.items())
    yield from _repeated("stream id", streams)
    for name, profile in config.profiles.items():
        above = ("profiles", name, "payload_pools")
        pools: Iterable[_Id] = (
            ((*above, index, "pool_id"), pool.pool_id) for index, pool in enumerate(profile.payload_pools)
        )
        yield from _repeated("pool id", pools)


def _repeated(what: str, ids: Iterable[_Id]) -> Iterator[Conflict]:
    owners: dict[int, KeyPath] = {}
    for key, number in ids:
        if (owner := owners.setdefault(number, key)) != key:
            yield Conflict(key, owner, f"{what} {number} is taken twice")


def _overlaps(config: DriverConfig) -> Iterator[Conflict]:
    """The conflicts of ranges that overlap each other, or contain a single id."""
    ranges = _ranges(config.driver)
    for (key, left), (other, right) in combinations(ranges.items(), 2):
        if left.overlaps(right):
            yield Conflict(other, key, f"the ranges {right} and {left} overlap")
    for key, inside in ranges.items():
        for other, stream_id in _single_ids(config, of_aeron=key != ("driver", "stream_id_range")):
            if stream_id in inside:
                yield Conflict(key, other, f"the range {inside} contains the single id {stream_id}")


def _ranges(driver: DriverSection) -> dict[KeyPath, IdRange]:
    names = ("stream_id_range", "descriptor_stream_id_range", "control_stream_id_range")
    return {("driver", name): ids for name in names if (ids := getattr(driver, name)) is not None}


def _single_ids(config: DriverConfig, *, of_aeron: bool) -> Iterator[_Id]:
    for name in ("control_stream_id", "announce_stream_id", "qos_stream_id"):
        yield ("driver", name), getattr(config.driver, name)
    for name, stream in config.streams.items():
        yield ("streams", name, "stream_id"), stream.stream_id
        # Pool streams and Aeron streams are numbered separately, so a stream may use one id for both.
        if of_aeron and stream.descriptor_stream is not None:
            yield ("streams", name, "descriptor_stream"), stream.descriptor_stream


def _missing_range(config: DriverConfig) -> Iterator[Conflict]:
    if config.policies.allow_dynamic_streams and config.driver.stream_id_range is None:
        message = "dynamic streams need a range to take their ids from"
        yield Conflict(("policies", "allow_dynamic_streams"), ("driver", "stream_id_range"), message)


def load_driver_config(options: DriverOptions, environment: Mapping[str, str]) -> DriverConfig:
    """The driver's configuration from its options, the environment and the file that either of them names."""
    overrides = {
        "driver.aeron_dir": option(options.aeron_dir, "--aeron-dir"),
        "shm.base_dir": option(options.base_dir, "--base-dir"),
    }
    config = load(DriverConfig, config_path(options.config, environment), environment, overrides)
    return with_ring(config, slots=options.slots, frame_bytes=options.frame_bytes)


def with_ring(config: DriverConfig, *, slots: int | None = None, frame_bytes: int | None = None) -> DriverConfig:
    """The same configuration with another ring in the default profile: ``--slots`` and ``--frame-bytes``.

    The largest pool becomes the one for frames of ``frame_bytes``, whatever producers declare. Smaller pools stay for
    smaller frames.
    """
    profile = config.profiles[config.default_profile]
    if slots is not None:
        profile = profile.model_copy(update={"header_nslots": _slots(slots)})
    if frame_bytes is not None:
        pools = _pools_for(profile, _stride(frame_bytes))
        slots = (
            profile.header_nslots if profile.has_own_slots else default_slots(sum(each.stride_bytes for each in pools))
        )
        changes = {"payload_pools": pools, "fit_frames": False, "header_nslots": slots}
        profile = profile.model_copy(update=changes)
    return config.model_copy(update={"profiles": {**config.profiles, config.default_profile: profile}})


def _slots(slots: int) -> int:
    if not 2 <= slots <= 1 << 31 or slots.bit_count() != 1:
        raise _wrong("--slots", "header_nslots", "a power of two from 2 on", slots)
    return slots


def _stride(frame_bytes: int) -> int:
    if not 1 <= frame_bytes <= STRIDE_MAX:
        raise _wrong("--frame-bytes", "stride_bytes", f"1 to {STRIDE_MAX} bytes", frame_bytes)
    return stride_of(frame_bytes)


def _wrong(option: str, key: str, wanted_words: str, found: int) -> WrongType:
    return WrongType(
        f"wanted {wanted_words}, found {found}", option=option, key=key, wanted=wanted_words, found=str(found)
    )


def _pools_for(profile: ProfileSection, stride: int) -> list[PoolSection]:
    *smaller, largest = sorted(profile.payload_pools, key=lambda pool: pool.stride_bytes)
    kept = [pool for pool in smaller if pool.stride_bytes < stride]
    return [*kept, PoolSection(pool_id=largest.pool_id, stride_bytes=stride)]
