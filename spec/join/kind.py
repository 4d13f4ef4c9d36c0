# SPDX-License-Identifier: Apache-2.0
"""What differs between the barriers (PROTOCOL 11.4 to 11.6)."""

from __future__ import annotations

from enum import Enum

from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.rules import INPUTS_MAX, refused
from framegate.schema.merge import TimestampSource
from framegate.spec.join.seen import Seen, Times, place_of


class Kind(Enum):
    """What readiness is about."""

    SEQUENCE = "sequence"
    """Output n is ready when every input was observed up to the sequence that its rules ask for."""
    TIMESTAMP = "timestamp"
    """Output t is ready when every input's time has come as far as its rules ask, less the map's lateness."""
    LATEST_BY_SEQ = "latest_by_seq"
    """Any output is ready when every input has a newest frame. The order is fixed for the barrier's life."""
    LATEST_BY_TIME = "latest_by_timestamp"
    """The same, newest by the time of each input's source."""

    @property
    def is_latest(self) -> bool:
        """Whether the newest frame counts, and rules say nothing but which streams there are."""
        return self in (Kind.LATEST_BY_SEQ, Kind.LATEST_BY_TIME)

    @property
    def reads_times(self) -> bool:
        """Whether times are read, so that their clock domain matters."""
        return self in (Kind.TIMESTAMP, Kind.LATEST_BY_TIME)

    def takes(self, *, is_by_timestamp: bool) -> bool:
        """Whether a map of that kind is for this barrier; the other kind is ignored."""
        # Parameters are ignored, so by newest sequence either kind will do; by time, only one declares a clock domain.
        return self is Kind.LATEST_BY_SEQ or is_by_timestamp == self.reads_times

    def check(self, fresh: MergeMap) -> None:
        """What else a map must fulfil. Raises MapRefused."""
        pair = {"out_stream": fresh.out_stream, "epoch": fresh.epoch}
        if len(fresh.streams) > INPUTS_MAX:
            raise refused({"reason": "too_many_inputs"}, **pair)
        for index, rule in enumerate(fresh.timestamp_rules):
            if self is Kind.LATEST_BY_TIME and self.source_of(fresh, rule.stream) != rule.source:
                raise refused({"reason": "two_sources", "rule": index, "stream": rule.stream}, **pair)

    def source_of(self, applied: MergeMap | None, stream: int) -> TimestampSource | None:
        """The source that frames are ordered by. Values of two sources cannot be ordered."""
        if applied is None or self is not Kind.LATEST_BY_TIME:
            return None
        return next((rule.source for rule in applied.timestamp_rules if rule.stream == stream), None)

    def see(self, seen: Seen, seq: int, times: Times, source: TimestampSource | None, now_ns: int) -> None:
        """A frame of the input's current epoch came."""
        order = seq if self is Kind.LATEST_BY_SEQ else None
        if self is Kind.LATEST_BY_TIME and source is not None:
            order = times[place_of(source)]
        if order is not None:
            seen.select(order, seq)
        # Both fields are followed, so that a map may change a rule's source; a rule reads its own alone.
        seen.observe(seq, times, now_ns, is_ordered=self is Kind.TIMESTAMP)
