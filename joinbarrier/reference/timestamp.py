# SPDX-License-Identifier: Apache-2.0
"""The timestamp barrier (PROTOCOL 11.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from framegate.joinbarrier.mergemap import MergeMap, TimestampRule
from framegate.joinbarrier.readiness import Reason
from framegate.joinbarrier.reference.base import Barrier, Input, Seen
from framegate.schema.errors import OutputTimeDecreased
from framegate.schema.merge import TimestampSource


class TimestampBarrier(Barrier):
    """Output t is ready when every input's time has come as far as its rules ask, less the map's lateness."""

    last_emitted_ns = 0

    def new_epoch(self, epoch: int) -> bool:
        """As any barrier's; the output's times start again."""
        is_new = super().new_epoch(epoch)
        if is_new:
            self.last_emitted_ns = 0
        return is_new

    def emitted(self, out: int) -> None:
        """From now on no earlier output is ready."""
        if out < self.last_emitted_ns:
            raise OutputTimeDecreased("times of an output grow", last_ns=self.last_emitted_ns, found_ns=out)
        self.last_emitted_ns = out

    def reject(self, stream: int, sources: Iterable[TimestampSource]) -> None:
        """These fields of an input are known to have decreased."""
        found = self.inputs.get(stream)
        if found is not None:
            for source in sources:
                found.times[source].is_rejected = True

    def _takes(self, is_by_timestamp: bool) -> bool:
        return is_by_timestamp

    def _reads_times(self) -> bool:
        return True

    def _is_too_early(self, out: int) -> bool:
        return out < self.last_emitted_ns

    def _see(self, stream: int, found: Input, seen: Seen) -> None:  # noqa: ARG002
        """Both fields are followed, so that a map may change a rule's source; a rule reads its own alone."""
        for source, time in seen.times.items():
            times = found.times[source]
            if time is None or times.is_rejected:
                continue
            if times.observed_ns is not None and time < times.observed_ns:
                times.is_rejected = True
            else:
                times.observed_ns = time

    def _blocking(self, applied: MergeMap, out: int, now_ns: int) -> Iterator[tuple[int, Reason]]:  # noqa: ARG002
        # A decreasing source puts the whole input out, also for a rule that reads the other one.
        rejected = {
            rule.stream for rule in applied.timestamp_rules if self.inputs[rule.stream].times[rule.source].is_rejected
        }
        for rule in applied.timestamp_rules:
            reason = self._reason(rule, out, applied.lateness_ns, rule.stream in rejected)
            if reason is not None:
                yield rule.stream, reason

    def _reason(self, rule: TimestampRule, out: int, lateness_ns: int, is_rejected: bool) -> Reason | None:
        times = self.inputs[rule.stream].times[rule.source]
        required_ns = required_time(rule, out)
        if required_ns is None:
            return Reason.BEFORE_START
        least_ns = max(0, required_ns - lateness_ns)
        if is_rejected:
            return Reason.REJECTED
        if times.observed_ns is None:
            return Reason.NOT_OBSERVED
        if times.observed_ns < least_ns:
            return Reason.BEHIND
        if rule.stream in self.needs_processed and (times.processed_ns is None or times.processed_ns < least_ns):
            return Reason.BEHIND
        return None


def required_time(rule: TimestampRule, out: int) -> int | None:
    """The time that output ``out`` waits for, before lateness; None before the rule's first output."""
    if rule.window_ns is not None:
        return None if out < rule.window_ns else out
    required_ns = out + (rule.offset_ns or 0)
    return None if required_ns < 0 else required_ns
