# SPDX-License-Identifier: Apache-2.0
"""The gate before an output: validity of the map, epochs of the inputs, staleness (PROTOCOL 11.3 to 11.7).

A barrier decides only from its observations. It reads no clock, waits for nothing and holds no frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from framegate.joinbarrier.barriers.readiness import Readiness, Reason
from framegate.joinbarrier.maps.mergemap import Announce, MergeMap, is_by_timestamp, pair_of
from framegate.schema.errors import ClockDomainRefused, MapRefused, OutputTimeDecreased
from framegate.schema.merge import ClockDomain
from framegate.spec.join.demand import STALE, demands
from framegate.spec.join.kind import Kind
from framegate.spec.join.seen import Seen, times_of

SEVERITY: Final = list(Reason)


class Barrier:
    """The gate before one output stream."""

    def __init__(self, kind: Kind, out_stream: int, epoch: int, needs_processed: Iterable[int] = ()) -> None:
        self.kind, self.out_stream, self.epoch = kind, out_stream, epoch
        self.needs_processed = frozenset(needs_processed)
        self.map: MergeMap | None = None
        self.is_valid = False
        self.inputs = dict[int, Seen]()
        self.is_foreign_domain = False
        self.last_emitted_ns = 0
        self.unknown_streams = 0
        self.older_epochs = 0

    # --- The map ---

    def apply(self, announced: MergeMap | Announce) -> bool:
        """Apply a map; False if it is not for this barrier. Raises MapRefused, and then the barrier blocks."""
        if pair_of(announced) != (self.out_stream, self.epoch) or not self.kind.takes(
            is_by_timestamp=is_by_timestamp(announced)
        ):
            return False
        try:
            fresh = announced if isinstance(announced, MergeMap) else MergeMap.from_message(announced)
            self.kind.check(fresh)
        except MapRefused:
            self.invalidate()
            raise
        if self.is_valid and fresh == self.map:
            return True
        source_of = self.kind.source_of
        kept = {each: seen for each, seen in self.inputs.items() if source_of(self.map, each) == source_of(fresh, each)}
        self.inputs = {stream: kept.get(stream) or Seen() for stream in fresh.streams}
        self.map, self.is_valid, self.is_foreign_domain = fresh, True, False
        return True

    def invalidate(self) -> None:
        """Block until a map is applied, because the authority announced another one, or an invalid one."""
        self.is_valid = False

    def new_epoch(self, epoch: int) -> bool:
        """Block until a map of this higher output epoch is applied. False for an epoch that is not higher."""
        if epoch <= self.epoch:
            return False
        self.epoch, self.last_emitted_ns = epoch, 0
        self.invalidate()
        return True

    # --- What comes in ---

    def observe(
        self,
        stream: int,
        seq: int,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        now_ns: int,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool:
        """Observe a frame by its descriptor; False if it does not count. Without an epoch it belongs to the input's
        current one.
        """
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        self._check_domain(stream, clock_domain)
        if epoch is not None and not self._enter(stream, epoch):
            self.older_epochs += 1
            return False
        times = times_of(timestamp_ns, descriptor_timestamp_ns)
        self.kind.see(self.inputs[stream], seq, times, self.kind.source_of(self.map, stream), now_ns)
        return True

    def input_epoch(self, stream: int, epoch: int) -> bool:
        """Note a higher epoch of an input, of which no frame has come yet."""
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        return (found.epoch is None or epoch > found.epoch) and self._enter(stream, epoch)

    def processed(
        self,
        stream: int,
        seq: int | None,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool:
        """Note what consumers processed; False if it is not of the input's current epoch."""
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        self._check_domain(stream, clock_domain)
        if epoch is not None and epoch != found.epoch:
            return False
        found.consumed(seq, times_of(timestamp_ns, descriptor_timestamp_ns))
        return True

    def selected(self, stream: int) -> int | None:
        """The sequence of an input's newest frame, under a latest policy; None while none can be read."""
        found = self.inputs.get(stream)
        return None if found is None else found.selected

    def invalid(self, stream: int, seq: int) -> bool:
        """Note that the newest frame could not be read, so that the input is absent until a newer one comes."""
        found = self.inputs.get(stream)
        return found is not None and found.invalid(seq)

    def _enter(self, stream: int, epoch: int) -> bool:
        """Whether something of this epoch counts. A higher epoch clears what is known of the one before."""
        own = self.inputs[stream].epoch
        if own is None or epoch > own:
            self.inputs[stream] = Seen(epoch)
        return epoch == self.inputs[stream].epoch

    def _check_domain(self, stream: int, domain: ClockDomain | None) -> None:
        declared = self.map.clock_domain if self.map is not None and self.kind.reads_times else None
        if domain is not None and declared is not None and domain != declared:
            self.is_foreign_domain = True
            raise ClockDomainRefused(
                "a time of the input is of another domain", stream=stream, want=declared.name, have=domain.name
            )

    # --- What is asked ---

    def ready(self, out: int, now_ns: int, clock_domain: ClockDomain | None = None) -> Readiness:
        """Whether one attempt at this output is permitted. Changes nothing."""
        if self.map is None or not self.is_valid:
            return Readiness(reason=Reason.NO_MAP)
        if self.kind.reads_times and clock_domain not in (None, self.map.clock_domain):
            return Readiness(reason=Reason.DOMAIN)
        if self.is_foreign_domain:
            return Readiness(reason=Reason.DOMAIN)
        if out < self.last_emitted_ns:
            return Readiness(reason=Reason.OUT_OF_ORDER)
        waiting, absent, reasons = set[int](), set[int](), set[Reason]()
        for demand in demands(self.map, self.kind, self.needs_processed):
            verdict = demand.verdict(self.inputs[demand.stream], out, now_ns, self.map.stale_timeout_ns)
            if verdict == STALE:
                absent.add(demand.stream)
            elif isinstance(verdict, Reason):
                waiting.add(demand.stream)
                reasons.add(verdict)
        return Readiness(
            frozenset(waiting), frozenset(absent - waiting), min(reasons, key=SEVERITY.index, default=None)
        )

    def emitted(self, out: int) -> None:
        """Note that an output was made. By timestamp, no earlier output is ready afterwards."""
        if self.kind is not Kind.TIMESTAMP:
            return
        if out < self.last_emitted_ns:
            raise OutputTimeDecreased("times of an output grow", last_ns=self.last_emitted_ns, found_ns=out)
        self.last_emitted_ns = out
