# SPDX-License-Identifier: Apache-2.0
"""The latest-value barrier (PROTOCOL 11.6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from framegate.joinbarrier.map_rules import refused
from framegate.joinbarrier.mergemap import MergeMap
from framegate.joinbarrier.readiness import Reason
from framegate.joinbarrier.reference.base import Barrier, Input, Seen
from framegate.schema.merge import TimestampSource


class LatestBarrier(Barrier):
    """Any output is ready when every input has a newest frame; a stale input is absent, whatever it last showed."""

    def __init__(
        self, out_stream: int, epoch: int, needs_processed: Iterable[int] = (), *, is_by_time: bool = False
    ) -> None:
        super().__init__(out_stream, epoch, needs_processed)
        self.is_by_time = is_by_time

    def selected(self, stream: int) -> int | None:
        """The newest frame's sequence; None while there is none that can be read."""
        found = self.inputs.get(stream)
        if found is None or found.selected is None or found.is_invalid:
            return None
        return found.selected[1]

    def invalid(self, stream: int, seq: int) -> bool:
        """The selected frame could not be read: the input is absent until a newer one comes."""
        if self.selected(stream) != seq:
            return False
        self.inputs[stream].is_invalid = True
        return True

    def _takes(self, is_by_timestamp: bool) -> bool:
        # Parameters are ignored, so by sequence either kind will do; by time, only one declares a clock domain.
        return is_by_timestamp or not self.is_by_time

    def _reads_times(self) -> bool:
        return self.is_by_time

    def _check(self, fresh: MergeMap) -> None:
        super()._check(fresh)
        if not self.is_by_time:
            return
        sources = dict[int, TimestampSource]()
        for index, rule in enumerate(fresh.timestamp_rules):
            if sources.setdefault(rule.stream, rule.source) != rule.source:
                facts = {"reason": "two_sources", "rule": index, "stream": rule.stream}
                raise refused(facts, out_stream=fresh.out_stream, epoch=fresh.epoch)

    def _see(self, stream: int, found: Input, seen: Seen) -> None:
        order = self._order(stream, seen)
        if order is None:
            return
        newest = (order, seen.seq)
        if found.selected is None or newest > found.selected:
            found.selected, found.is_invalid = newest, False

    def _order(self, stream: int, seen: Seen) -> int | None:
        """What frames of the input are ordered by; None for a frame without it."""
        if not self.is_by_time:
            return seen.seq
        source = _source(self.map, stream)
        return None if source is None else seen.times[source]

    def _keeps(self, stream: int, fresh: MergeMap) -> bool:
        # Values of two sources cannot be ordered.
        return not self.is_by_time or _source(self.map, stream) == _source(fresh, stream)

    def _blocking(self, applied: MergeMap, out: int, now_ns: int) -> Iterator[tuple[int, Reason]]:  # noqa: ARG002
        for stream in applied.streams:
            found = self.inputs[stream]
            if found.selected is None:
                yield stream, Reason.NOT_OBSERVED
            elif found.is_invalid:
                yield stream, Reason.INVALID
            elif self.is_stale(applied, stream, now_ns):
                # There is no rule that an old value could fulfil, so it counts as absent.
                yield stream, Reason.BEHIND


def _source(applied: MergeMap | None, stream: int) -> TimestampSource | None:
    rules = () if applied is None else applied.timestamp_rules
    return next((rule.source for rule in rules if rule.stream == stream), None)
