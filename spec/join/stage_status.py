# SPDX-License-Identifier: Apache-2.0
"""What a stage waits for, in words for people."""

from __future__ import annotations

from framegate.spec.join.history import Input
from framegate.spec.join.sequence_policy import SequencePolicy
from framegate.spec.join.stage_core import StageCore
from framegate.spec.join.stage_policy import Policy
from framegate.spec.join.timestamp_policy import TimestampPolicy


def status(core: StageCore, policy: Policy) -> dict[str, object]:
    """The current output, the inputs that it waits for, and how many frames of each input wait."""
    out: int | None = None
    if isinstance(policy, SequencePolicy):
        out = policy.proposed
    elif isinstance(policy, TimestampPolicy):
        out = policy.t
    has_map = core.has_map
    waiting = [_waiting(core, each, policy, out) for each in core.inputs]
    return {
        "out": out,
        "since_ns": core.asked_ns,
        "has_map": has_map,
        "is_backed_up": core.queue.is_backed_up,
        "waiting": [each for each in waiting if each is not None],
        "pending": [len(each.pending) + len(each.behind) for each in core.inputs],
    }


def _waiting(core: StageCore, each: Input, policy: Policy, out: int | None) -> dict[str, object] | None:
    """Why an input holds the output up, and how much it lacks, in sequences or nanoseconds."""
    if not core.takes_part(each):
        return None
    source = each.source
    known = source.last_seq if isinstance(policy, SequencePolicy) else source.last_times[each.place]
    missing = None
    if not source.is_observed:
        reason = "not_observed"
    elif core.is_rejected(source):
        reason = "rejected"
    elif out is not None and isinstance(policy, TimestampPolicy) and each.config.pick == "sequence":
        missing = policy.missing(each)
        if not missing:
            return None
        reason = "behind"
    elif out is None or core.lacks(each, out) is None:
        return None
    else:
        reason = "behind"
        missing = None if known is None else max(0, out + each.shift - known)
    return {
        "input": each.index,
        "reason": reason,
        "last_seq": source.last_seq,
        "last_time_ns": source.last_times[each.place],
        "missing": missing,
    }
