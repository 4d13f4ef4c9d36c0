# SPDX-License-Identifier: Apache-2.0
"""A join.toml: loading it, and the MergeMap that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Self

from framegate.joinbarrier.config.drive import Drive
from framegate.joinbarrier.config.late_inputs import late_input_warnings, long_wait_warnings
from framegate.joinbarrier.config.policies import POLICIES
from framegate.joinbarrier.config.rules import conflicts
from framegate.joinbarrier.config.sections import (
    INPUTS_MAX,
    CheckpointSection,
    InputSection,
    JoinSection,
    JournalSection,
    MergeMapSection,
)
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.joinbarrier.maps.messages import MapKind
from framegate.schema.config.loading import Given, load
from framegate.schema.config.settings import ClientSettings, load_client_settings
from framegate.schema.config.types import Context, Section, refuse
from framegate.schema.merge import ClockDomain, TimestampSource
from framegate.shmpool.client.stream_names import StreamNames
from pydantic import Field, model_validator

_NS_PER_MS: Final = 1_000_000
SOURCES: Final = {
    "slot_header": TimestampSource.SLOT_HEADER,
    "frame_descriptor": TimestampSource.FRAME_DESCRIPTOR,
}
"""The field of the map for each word of ``timestamp_source``."""
DOMAINS: Final = {"monotonic": ClockDomain.MONOTONIC, "realtime_synced": ClockDomain.REALTIME_SYNCED}
"""The field of the map for each word of ``clock_domain``."""


class JoinConfig(Section):
    """A join.toml, whole and checked."""

    join: JoinSection = Field(default_factory=JoinSection)
    journal: JournalSection = Field(default_factory=JournalSection)
    mergemap: MergeMapSection = Field(default_factory=MergeMapSection)
    checkpoint: CheckpointSection = Field(default_factory=CheckpointSection)
    input: Annotated[list[InputSection], Field(min_length=1, max_length=INPUTS_MAX)]
    client: ClientSettings = Field(default_factory=ClientSettings)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        refuse(list(conflicts(self)))
        return self

    @property
    def drive(self) -> Drive:
        """What makes outputs; where it is not given, the policy's own."""
        given = Drive.parse(self.join.drive) if self.join.drive else None
        if given is not None:
            return given
        kind = POLICIES[self.join.policy].drives[0]
        return Drive(kind, input=self.input[0].name if kind == "input" else "")

    @property
    def has_timestamp_map(self) -> bool:
        """Whether the map's rules speak of times: of a timestamp join, and of a latest one that is ordered by them."""
        by_time = self.join.policy == "latest" and self.mergemap.order_by == "timestamp"
        return by_time or self.join.policy == "timestamp"

    @property
    def map_kinds(self) -> tuple[MapKind, ...]:
        """The kinds of map that this join takes; by latest value and sequence parameters are ignored, so both."""
        if self.has_timestamp_map:
            return ("timestamp",)
        return ("sequence", "timestamp") if self.join.policy == "latest" else ("sequence",)

    @property
    def first_epoch(self) -> int:
        """The epoch in which this join's output begins in a new journal."""
        return self.mergemap.epoch or 1

    def merge_map(self, epoch: int) -> MergeMap | None:
        """The map of this join for an epoch of its output; None for a policy that needs no map."""
        if not POLICIES[self.join.policy].needs_map:
            return None
        stale_ns = self.mergemap.stale_timeout_ms * _NS_PER_MS or None
        if not self.has_timestamp_map:
            rules = [_sequence_rule(each) for each in self.input]
            return MergeMap(self.join.out_stream, epoch, rules, stale_timeout_ns=stale_ns)
        return MergeMap(
            self.join.out_stream,
            epoch,
            [_timestamp_rule(each) for each in self.input],
            stale_timeout_ns=stale_ns,
            clock_domain=DOMAINS[self.mergemap.clock_domain],
            lateness_ns=self.mergemap.lateness_ns,
        )

    def warnings(self, *, is_live: bool = True) -> list[str]:
        """What is allowed and probably not meant, to be said at the start."""
        found = [*late_input_warnings(self), *long_wait_warnings(self)]
        if is_live and self.journal.when_full == "block":
            found.append(
                'journal.when_full = "block" needs a named reader: until one comes, nobody holds rows back, '
                "and a full journal drops its oldest"
            )
        return found


def load_join_config(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Given | None] | None = None,
    names: Mapping[str, int] | None = None,
) -> JoinConfig:
    """Load a join.toml; ``overrides`` are options of the command line by their dotted keys.

    ``names`` are streams that a recording knows by name; all others are looked up in the base directory.

    Every key of a table has a variable: ``join.outputs`` is FRAMEGATE_JOIN_OUTPUTS, ``journal.max_bytes`` is
    FRAMEGATE_JOURNAL_MAX_BYTES, and all inputs together are FRAMEGATE_INPUT, an array as TOML writes it.
    """
    given = overrides or {}
    return load(JoinConfig, path, environment, given, context=_names(path, environment, given, names or {}))


def _names(
    path: Path | None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Given | None],
    recorded: Mapping[str, int],
) -> Context:
    """The names of the base directory that the join's client has; it is looked at only if a name is there."""
    base_dir = overrides.get("client.base_dir")

    def stream_of(name: str) -> int:
        if name in recorded:
            return recorded[name]
        given = None if base_dir is None else base_dir.value
        settings = load_client_settings(environment, config=path, base_dir=given)
        return StreamNames(settings.base_dir).id_of(name)

    return Context(stream_of)


def _sequence_rule(each: InputSection) -> SequenceRule:
    if each.window is not None:
        return SequenceRule(each.stream, window=each.window)
    return SequenceRule(each.stream, offset=each.offset or 0)


def _timestamp_rule(each: InputSection) -> TimestampRule:
    source = SOURCES[each.timestamp_source]
    if each.window_ns is not None:
        return TimestampRule(each.stream, window_ns=each.window_ns, source=source)
    return TimestampRule(each.stream, offset_ns=each.offset_ns or 0, source=source)
