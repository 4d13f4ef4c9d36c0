# SPDX-License-Identifier: Apache-2.0
"""The sequence barrier (PROTOCOL 11.4)."""

from __future__ import annotations

from collections.abc import Iterator

from framegate.joinbarrier.mergemap import MergeMap, SequenceRule
from framegate.joinbarrier.readiness import Reason
from framegate.joinbarrier.reference.base import Barrier, Input, Seen


class SequenceBarrier(Barrier):
    """Output n is ready when every input was observed up to the sequence that its rules ask for."""

    def _takes(self, is_by_timestamp: bool) -> bool:
        return not is_by_timestamp

    def _see(self, stream: int, found: Input, seen: Seen) -> None:  # noqa: ARG002
        found.observed = seen.seq if found.observed is None else max(found.observed, seen.seq)

    def _blocking(self, applied: MergeMap, out: int, now_ns: int) -> Iterator[tuple[int, Reason]]:  # noqa: ARG002
        for rule in applied.sequence_rules:
            reason = self._reason(rule, self.inputs[rule.stream], out)
            if reason is not None:
                yield rule.stream, reason

    def _reason(self, rule: SequenceRule, found: Input, out: int) -> Reason | None:
        required = required_seq(rule, out)
        if required is None:
            return Reason.BEFORE_START
        if found.observed is None:
            return Reason.NOT_OBSERVED
        if found.observed < required:
            return Reason.BEHIND
        if rule.stream in self.needs_processed and (found.processed is None or found.processed < required):
            return Reason.BEHIND
        return None


def required_seq(rule: SequenceRule, out: int) -> int | None:
    """The sequence that output ``out`` waits for; None before the rule's first output."""
    if rule.window is not None:
        return None if out + 1 < rule.window else out
    required = out + (rule.offset or 0)
    return None if required < 0 else required
