# SPDX-License-Identifier: Apache-2.0
"""A native barrier in the words of the reference: announces as plain numbers, answers as a Readiness."""

from __future__ import annotations

from collections.abc import Sequence

from framegate.joinbarrier.barriers.readiness import Readiness, Reason
from framegate.joinbarrier.maps.mergemap import Announce, MergeMap
from framegate.joinbarrier.maps.rules import refused
from framegate.schema.errors import ClockDomainRefused, OutputTimeDecreased
from framegate.schema.merge import ClockDomain, SequenceMergeMapAnnounce


class NativeBarrier:
    """The barriers of ``native/join``; they check a map by themselves."""

    def __init__(self, kind: str, out_stream: int, epoch: int, needs_processed: Sequence[int]) -> None:
        from framegate._native import JoinBarrier  # whoever takes the reference needs no compiled part

        self._native = JoinBarrier(kind, out_stream, epoch, needs_processed)
        self.invalidate = self._native.invalidate
        self.new_epoch = self._native.new_epoch
        self.input_epoch = self._native.input_epoch
        self.selected = self._native.selected
        self.invalid = self._native.invalid
        self.attempt = self._native.attempt

    @property
    def epoch(self) -> int:
        return self._native.epoch

    @property
    def is_valid(self) -> bool:
        return self._native.is_valid

    @property
    def unknown_streams(self) -> int:
        return self._native.ignored[0]

    @property
    def older_epochs(self) -> int:
        return self._native.ignored[1]

    def apply(self, announced: MergeMap | Announce) -> bool:
        try:
            numbers = map_numbers(announced) if isinstance(announced, MergeMap) else _announce_numbers(announced)
            is_in_force, refusal = self._native.apply(*numbers)
        except (OverflowError, TypeError):
            # A message made by hand, with numbers that no field holds: the table of the rules says which.
            self.invalidate()
            if not isinstance(announced, MergeMap):
                MergeMap.from_message(announced)
            raise
        if refusal is not None:
            rule, stream, reason = refusal
            where = {} if rule is None else {"rule": rule, "stream": stream}
            raise refused({"reason": reason, **where}, out_stream=numbers[0], epoch=numbers[1])
        return is_in_force

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
        self._check_domain(stream, clock_domain)
        return self._native.observe(stream, seq, timestamp_ns, descriptor_timestamp_ns, now_ns, epoch)

    def processed(
        self,
        stream: int,
        seq: int | None,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool:
        self._check_domain(stream, clock_domain)
        return self._native.processed(stream, seq, timestamp_ns, descriptor_timestamp_ns, epoch)

    def ready(self, out: int, now_ns: int, clock_domain: ClockDomain | None = None) -> Readiness:
        reason, waiting, absent = self._native.ready(out, now_ns, clock_domain)
        return Readiness(frozenset(waiting), frozenset(absent), None if reason is None else Reason(reason))

    def emitted(self, out: int) -> None:
        last_ns = self._native.emitted(out)
        if last_ns is not None:
            raise OutputTimeDecreased("times of an output grow", last_ns=last_ns, found_ns=out)

    def _check_domain(self, stream: int, domain: ClockDomain | None) -> None:
        if domain is not None and not self._native.admit_domain(stream, domain):
            want = ClockDomain(self._native.declared_domain or 0).name
            raise ClockDomainRefused(
                "a time of the input is of another domain", stream=stream, want=want, have=domain.name
            )


_Numbers = tuple[
    int, int, int | None, tuple[int, int | None] | None, list[tuple[int, int, int, int | None, int | None]]
]


def map_numbers(applied: MergeMap) -> _Numbers:
    """A map as the native side takes it: output, epoch, staleness, (domain, lateness), and the rules."""
    times = None if applied.clock_domain is None else (int(applied.clock_domain), applied.lateness_ns)
    rules = [(rule.stream, int(rule.kind), 0, rule.offset, rule.window) for rule in applied.sequence_rules]
    rules += [
        (rule.stream, int(rule.kind), int(rule.source), rule.offset_ns, rule.window_ns)
        for rule in applied.timestamp_rules
    ]
    return applied.out_stream, applied.epoch, applied.stale_timeout_ns, times, rules


def _announce_numbers(message: Announce) -> _Numbers:
    """The same of an announce that nobody has checked."""
    if isinstance(message, SequenceMergeMapAnnounce):
        times = None
        rules = [
            (rule.input_stream_id, int(rule.rule_type), 0, rule.offset, rule.window_size) for rule in message.rules
        ]
    else:
        times = (int(message.clock_domain), message.lateness_ns)
        rules = [
            (rule.input_stream_id, int(rule.rule_type), int(rule.timestamp_source), rule.offset_ns, rule.window_ns)
            for rule in message.rules
        ]
    return message.out_stream_id, message.epoch, message.stale_timeout_ns, times, rules
