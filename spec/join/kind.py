# SPDX-License-Identifier: Apache-2.0
"""The differences between the kinds of barrier (PROTOCOL 11.4 to 11.6)."""

from __future__ import annotations

from enum import Enum

from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.rules import INPUTS_MAX, refused
from framegate.schema.merge import TimestampSource
from framegate.spec.join.seen import Seen, Times, place_of


class Kind(Enum):
    """What readiness depends on."""

    SEQUENCE = "sequence"
    """Output n is ready when every input was observed up to the sequence that its rules ask for."""
    TIMESTAMP = "timestamp"
    """Output t is ready when every input's time has come as far as its rules ask, less the map's lateness."""
    LATEST_BY_SEQ = "latest_by_seq"
    """Any output is ready when every input has a newest frame, by sequence. A barrier keeps its order for good."""
    LATEST_BY_TIME = "latest_by_timestamp"
    """Any output is ready when every input has a newest frame, by the time of its source."""

    @property
    def is_latest(self) -> bool:
        """Whether only the newest frames count, so that rules do nothing but name streams."""
        return self in (Kind.LATEST_BY_SEQ, Kind.LATEST_BY_TIME)

    @property
    def reads_times(self) -> bool:
        """Whether times are read, so that their clock domain matters."""
        return self in (Kind.TIMESTAMP, Kind.LATEST_BY_TIME)

    def takes(self, *, is_by_timestamp: bool) -> bool:
        """Whether a map with or without times is for this barrier; other maps are ignored."""
        # Parameters are ignored, so both kinds of map suit the newest by sequence; only a timestamp map declares the
        # clock domain that the newest by time needs.
        return self is Kind.LATEST_BY_SEQ or is_by_timestamp == self.reads_times

    def check(self, fresh: MergeMap) -> None:
        """Check what else a map of this kind must fulfil. Raises MapRefused."""
        pair = {"out_stream": fresh.out_stream, "epoch": fresh.epoch}
        if len(fresh.streams) > INPUTS_MAX:
            raise refused({"reason": "too_many_inputs"}, **pair)
        for index, rule in enumerate(fresh.timestamp_rules):
            if self is Kind.LATEST_BY_TIME and self.source_of(fresh, rule.stream) != rule.source:
                raise refused({"reason": "two_sources", "rule": index, "stream": rule.stream}, **pair)

    def source_of(self, applied: MergeMap | None, stream: int) -> TimestampSource | None:
        """The source by whose times frames are ordered. Values of two sources cannot be compared."""
        if applied is None or self is not Kind.LATEST_BY_TIME:
            return None
        return next((rule.source for rule in applied.timestamp_rules if rule.stream == stream), None)

    def see(self, seen: Seen, seq: int, times: Times, source: TimestampSource | None, now_ns: int) -> None:
        """Take a frame of the input's current epoch."""
        order = seq if self is Kind.LATEST_BY_SEQ else None
        if self is Kind.LATEST_BY_TIME and source is not None:
            order = times[place_of(source)]
        if order is not None:
            seen.select(order, seq)
        # Both fields are followed, so that a map may change a rule's source; each rule reads only its own.
        seen.observe(seq, times, now_ns, is_ordered=self is Kind.TIMESTAMP)
