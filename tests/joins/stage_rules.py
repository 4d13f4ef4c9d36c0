# SPDX-License-Identifier: Apache-2.0
"""A stage's configuration together with rules of its own, from which a test makes the map that it applies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.merge import ClockDomain
from framegate.spec.join.stage_config import InputConfig, StageConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledInput(InputConfig):
    """An input with a rule. Of a timestamp join, ``offset`` and ``window`` are nanoseconds."""

    offset: int | None = None
    window: int | None = None

    @property
    def shift(self) -> int:
        """From an output to what is asked of this input."""
        return 0 if self.window is not None else self.offset or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledConfig(StageConfig):
    """A stage whose inputs have rules."""

    inputs: tuple[RuledInput, ...]

    def map(self, epoch: int, stale_timeout_ns: int | None = None, lateness_ns: int = 0) -> MergeMap:
        """The map that these inputs describe."""
        if self.reads_times:
            return MergeMap(
                self.out_stream,
                epoch,
                list(self._timestamp_rules()),
                stale_timeout_ns=stale_timeout_ns,
                clock_domain=ClockDomain.MONOTONIC,
                lateness_ns=lateness_ns,
            )
        return MergeMap(self.out_stream, epoch, list(self._sequence_rules()), stale_timeout_ns=stale_timeout_ns)

    def _timestamp_rules(self) -> Iterator[TimestampRule]:
        for each in self.inputs:
            offset_ns = each.shift if each.window is None else None
            yield TimestampRule(each.stream, offset_ns=offset_ns, window_ns=each.window, source=each.source)

    def _sequence_rules(self) -> Iterator[SequenceRule]:
        for each in self.inputs:
            yield SequenceRule(each.stream, offset=each.shift if each.window is None else None, window=each.window)
