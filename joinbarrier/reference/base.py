# SPDX-License-Identifier: Apache-2.0
"""What the three barriers share: the map's life, the inputs' epochs, staleness (PROTOCOL 11.3 and 11.7).

A barrier decides from what it was told; it asks no clock, waits for nothing and holds no frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from framegate.joinbarrier.map_rules import INPUTS_MAX, U64_MAX, refused
from framegate.joinbarrier.mergemap import Announce, MergeMap, is_by_timestamp, pair_of
from framegate.joinbarrier.readiness import Readiness, Reason
from framegate.schema.errors import ClockDomainRefused, MapRefused
from framegate.schema.merge import ClockDomain, TimestampSource

NULL_TIMESTAMP: Final = U64_MAX
SEVERITY: Final = list(Reason)


@dataclass(slots=True)
class Times:
    """What one timestamp field of an input has shown."""

    observed_ns: int | None = None
    processed_ns: int | None = None
    is_rejected: bool = False


@dataclass(slots=True)
class Input:
    """State of one input in its current epoch."""

    epoch: int | None = None
    last_observed_ns: int | None = None
    observed: int | None = None
    processed: int | None = None
    times: dict[TimestampSource, Times] = field(default_factory=lambda: {source: Times() for source in TimestampSource})
    selected: tuple[int, int] | None = None
    """Latest value: what frames are ordered by, and the sequence."""
    is_invalid: bool = False

    def begin(self, epoch: int) -> None:
        """A new epoch forgets everything of the one before."""
        fresh = Input(epoch=epoch)
        for name in self.__slots__:
            setattr(self, name, getattr(fresh, name))


@dataclass(frozen=True, slots=True)
class Seen:
    """One descriptor with its slot's timestamp; None is null."""

    seq: int
    times: dict[TimestampSource, int | None]

    @classmethod
    def of(cls, seq: int, timestamp_ns: int | None, descriptor_timestamp_ns: int | None) -> Seen:
        """All ones is null, in either field."""
        found = {TimestampSource.SLOT_HEADER: timestamp_ns, TimestampSource.FRAME_DESCRIPTOR: descriptor_timestamp_ns}
        return cls(seq, {source: None if time == NULL_TIMESTAMP else time for source, time in found.items()})


class Barrier(ABC):
    """The gate before one output stream."""

    def __init__(self, out_stream: int, epoch: int, needs_processed: Iterable[int] = ()) -> None:
        self.out_stream, self.epoch = out_stream, epoch
        self.needs_processed = frozenset(needs_processed)
        self.map: MergeMap | None = None
        self.is_valid = False
        self.inputs = dict[int, Input]()
        self.is_foreign_domain = False
        self.unknown_streams = 0
        self.older_epochs = 0

    # --- The map ---

    def apply(self, announced: MergeMap | Announce) -> bool:
        """Whether this map is in force now. Raises MapRefused, and is blocked then."""
        if pair_of(announced) != (self.out_stream, self.epoch) or not self._takes(is_by_timestamp(announced)):
            return False
        try:
            fresh = announced if isinstance(announced, MergeMap) else MergeMap.from_message(announced)
            self._check(fresh)
        except MapRefused:
            self.invalidate()
            raise
        if self.is_valid and fresh == self.map:
            return True
        kept = {stream: found for stream, found in self.inputs.items() if self._keeps(stream, fresh)}
        self.inputs = {stream: kept.get(stream) or Input() for stream in fresh.streams}
        self.map, self.is_valid, self.is_foreign_domain = fresh, True, False
        return True

    def invalidate(self) -> None:
        """Blocks until a map is applied: the authority has announced another, or one that is invalid."""
        self.is_valid = False

    def new_epoch(self, epoch: int) -> bool:
        """Blocks until a map of this higher output epoch is applied; a lower one is ignored."""
        if epoch <= self.epoch:
            return False
        self.epoch = epoch
        self.invalidate()
        return True

    def _keeps(self, stream: int, fresh: MergeMap) -> bool:  # noqa: ARG002
        """Whether what is known of an input holds under another map too."""
        return True

    def _check(self, fresh: MergeMap) -> None:
        if len(fresh.streams) > INPUTS_MAX:
            raise refused({"reason": "too_many_inputs"}, out_stream=fresh.out_stream, epoch=fresh.epoch)

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
        """Whether a descriptor counts. Without an epoch it belongs to the input's current one."""
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        self._check_domain(stream, clock_domain)
        if epoch is not None and not self._enter(found, epoch):
            self.older_epochs += 1
            return False
        found.last_observed_ns = max(now_ns, found.last_observed_ns or 0)
        self._see(stream, found, Seen.of(seq, timestamp_ns, descriptor_timestamp_ns))
        return True

    def input_epoch(self, stream: int, epoch: int) -> bool:
        """An input is known to go on in a higher epoch, of which no frame has come yet."""
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        return (found.epoch is None or epoch > found.epoch) and self._enter(found, epoch)

    def processed(
        self,
        stream: int,
        seq: int | None,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool:
        """Whether what a stage consumed counts: it is of the input's current epoch."""
        found = self.inputs.get(stream)
        if found is None:
            self.unknown_streams += 1
            return False
        self._check_domain(stream, clock_domain)
        if epoch is not None and epoch != found.epoch:
            return False
        if seq is not None:
            found.processed = _higher(found.processed, seq)
        for source, time in Seen.of(0, timestamp_ns, descriptor_timestamp_ns).times.items():
            if time is not None:
                found.times[source].processed_ns = _higher(found.times[source].processed_ns, time)
        return True

    def _enter(self, found: Input, epoch: int) -> bool:
        if found.epoch is None or epoch > found.epoch:
            found.begin(epoch)
        return epoch == found.epoch

    def _check_domain(self, stream: int, domain: ClockDomain | None) -> None:
        declared = self.map.clock_domain if self.map is not None and self._reads_times() else None
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
        if self._reads_times() and clock_domain not in (None, self.map.clock_domain):
            return Readiness(reason=Reason.DOMAIN)
        if self.is_foreign_domain:
            return Readiness(reason=Reason.DOMAIN)
        if self._is_too_early(out):
            return Readiness(reason=Reason.OUT_OF_ORDER)
        waiting, absent, reasons = set[int](), set[int](), set[Reason]()
        for stream, reason in self._blocking(self.map, out, now_ns):
            if self._may_be_absent(self.map, stream, reason, now_ns):
                absent.add(stream)
            else:
                waiting.add(stream)
                reasons.add(reason)
        return Readiness(
            frozenset(waiting), frozenset(absent - waiting), min(reasons, key=SEVERITY.index, default=None)
        )

    def emitted(self, out: int) -> None:  # noqa: B027 - only times are followed
        """An output was made. Only times must not decrease."""

    def _may_be_absent(self, applied: MergeMap, stream: int, reason: Reason, now_ns: int) -> bool:
        return reason is not Reason.BEFORE_START and self.is_stale(applied, stream, now_ns)

    def is_stale(self, applied: MergeMap, stream: int, now_ns: int) -> bool:
        """Silent for longer than the time-out; an input that never was observed is not stale."""
        last_ns = self.inputs[stream].last_observed_ns
        if applied.stale_timeout_ns is None or last_ns is None:
            return False
        return now_ns - last_ns > applied.stale_timeout_ns

    # --- What differs ---

    @abstractmethod
    def _takes(self, is_by_timestamp: bool) -> bool:
        """Whether a map of that kind is for this barrier; the other kind is ignored."""

    @abstractmethod
    def _see(self, stream: int, found: Input, seen: Seen) -> None:
        """A descriptor of the input's current epoch."""

    @abstractmethod
    def _blocking(self, applied: MergeMap, out: int, now_ns: int) -> Iterator[tuple[int, Reason]]:
        """Every input that a rule has to wait for, were it not stale, and why."""

    def _reads_times(self) -> bool:
        return False

    def _is_too_early(self, out: int) -> bool:  # noqa: ARG002
        return False


def _higher(known: int | None, value: int) -> int:
    return value if known is None else max(known, value)
