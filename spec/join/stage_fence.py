# SPDX-License-Identifier: Apache-2.0
"""Fences in the histories of inputs. If a stream begins a new epoch while frames of the old one wait, new frames go
behind a fence, and only frames before it are candidates. The output's epoch goes on until nothing more can be made of
it, the next one is nearer, a third epoch begins, or space runs out. Then all fences are removed at once.
"""

from __future__ import annotations

from collections.abc import Callable

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.out_times import OutTimes
from framegate.spec.join.seen import Seen
from framegate.spec.join.sequence_policy import SequencePolicy
from framegate.spec.join.stage_core import StageCore
from framegate.spec.join.stage_policy import Policy
from framegate.spec.join.timestamp_policy import TimestampPolicy


class StageFence(StageCore):
    """Decides which epoch the outputs are made of."""

    policy: Policy
    times: OutTimes
    last_watermark_ms: int | None

    def newest(self, stream: int) -> Source:
        """The record that a stream's next frame belongs to."""
        return self.behind.get(stream) or self.sources[stream]

    def enter(self, stream: int, epoch: int) -> Source | None:
        """The record for something of this epoch; None if the epoch is over. A higher epoch begins here."""
        found = self._record_of(stream, epoch)
        is_full = any(len(each.pending) + len(each.behind) >= each.capacity for each in self.on(stream))
        if found is not None and self.behind and is_full:
            # Otherwise a newer frame would be lost for the sake of old ones.
            self.close_epoch()
            return self._record_of(stream, epoch)
        return found

    def _record_of(self, stream: int, epoch: int) -> Source | None:
        source, newest = self.sources[stream], self.newest(stream)
        if source.epoch is None:
            source.seen.epoch = epoch
        if newest.epoch is None or epoch <= newest.epoch:
            return next((record for record in (source, newest) if record.epoch == epoch), None)
        if stream in self.behind:
            self.close_epoch()
        fresh = Source(stream, Seen(epoch))
        if self.config.policy != "latest" and (self.behind or any(each.pending for each in self.on(stream))):
            self.behind[stream] = fresh
            # No more frames of the old epoch are waited for.
            self.sources[stream].is_ended = True
        else:
            self._begin_next(stream, fresh)
            self._new_out_epoch()
        return fresh

    # --- The fence goes ---

    def close_epoch(self) -> None:
        """Move all streams that have a fence to their next epoch. What is left of the old ones is dropped."""
        for stream in self.config.streams:
            if stream in self.behind:
                self._begin_next(stream, self.behind.pop(stream))
        self._new_out_epoch()
        self.advance_watermark()

    def _begin_next(self, stream: int, following: Source) -> None:
        for each in self.on(stream):
            self.drop_all(each, Cause.EPOCH)
            each.begin(following)
        self.sources[stream] = following
        for each in self.on(stream):
            self.settle(each)

    def _new_out_epoch(self) -> None:
        self.out_epoch, self.out_seq = self.out_epoch + 1, 0
        self.last_watermark_ms = None
        self.has_map = self.kind is None
        self.policy.new_epoch()

    def close_if_due(self) -> bool:
        """Close the output's epoch if nothing more can be made of it, or if the next one is nearer. True if it was
        closed.
        """
        if not self.behind or self.kind is None:
            return False
        is_due = not any(each.pending for stream in self.behind for each in self.on(stream))
        if isinstance(self.policy, SequencePolicy):
            is_due = is_due or self._is_next_nearer_at_begin(self.policy)
        elif isinstance(self.policy, TimestampPolicy):
            is_due = is_due or self._is_next_asked_for(self.policy)
        if is_due:
            self.close_epoch()
        return is_due

    @property
    def is_nothing_to_come(self) -> bool:
        """Whether all streams have ended, including the epochs behind fences."""
        for stream in self.sources:
            newest = self.newest(stream)
            is_awaited = any(each in self.required for each in self.on(stream))
            if not newest.is_ended and (is_awaited or newest.is_observed):
                return False
        return True

    # --- By sequence ---

    def _is_next_nearer_at_begin(self, policy: SequencePolicy) -> bool:
        """Whether every input has what the first output of the next epoch asks for, while one lacks what this epoch's
        would.
        """
        if not self.has_map or policy.n is not None or not self.is_all_observed:
            return False
        n = policy.first_output(policy.first_seq)
        is_far = n is None or any(self.lacks(each, n) is not None for each in self.required)
        return is_far and self._is_next_complete(policy)

    def is_nearer_to_next(self, stream: int, seq: int) -> bool:
        """Whether the new frame is too old for the current output, and would complete the first output of the next
        epoch.
        """
        policy = self.policy
        if not isinstance(policy, SequencePolicy) or policy.n is None or stream in self.behind:
            return False
        n = policy.n
        is_below = all(seq < policy.floor(each, n) for each in self.on(stream))
        return is_below and self._is_next_complete(policy, stream, seq)

    def _is_next_complete(self, policy: SequencePolicy, stream: int | None = None, seq: int = 0) -> bool:
        """Whether every input has what the first output of the next epoch asks for. Frame ``seq`` of ``stream`` just
        came.
        """

        def first(each: Input) -> int | None:
            if each.config.stream in self.behind:
                return each.behind[0].seq if each.behind else None
            if not each.pending and each.config.stream == stream:
                return seq
            return policy.first_seq(each)

        n = policy.first_output(first)
        if n is None:
            return False
        for each in self.required:
            last_seq = seq if each.config.stream == stream else self.newest(each.config.stream).last_seq
            if last_seq is None or last_seq < n + each.shift:
                return False
        return True

    # --- By timestamp ---

    def _is_next_asked_for(self, policy: TimestampPolicy) -> bool:
        """Whether the current output lies in the next epoch of an input, or this epoch can have no more outputs."""
        t = policy.proposed(0)
        if t is None:
            return self._has_no_more_times(policy)
        for each in self.inputs:
            first = each.behind[0] if each.behind else None
            if first is not None and first.lost is None and t + each.shift >= (first.time or 0):
                return True
        return False

    def _has_no_more_times(self, policy: TimestampPolicy) -> bool:
        if policy.anchor is not None:
            return policy.anchor.source.is_ended
        return self.config.drive == "watermark" and all(each.source.is_ended for each in self.required)

    # --- Unions ---

    def pass_in_order(self) -> None:
        """Keep frames in the order in which they came: a fence is removed once everything that waits came after it."""
        while True:
            oldest = _least(self.inputs, lambda each: each.pending)
            due = [
                stream
                for stream in self.config.streams
                if stream in self.behind and (oldest is None or _is_before(self.on(stream), oldest))
            ]
            if not due:
                return
            self._begin_next(due[0], self.behind.pop(due[0]))
            self._new_out_epoch()


def _least(inputs: list[Input], frames: Callable[[Input], list[Frame]]) -> int | None:
    return min((frames(each)[0].order for each in inputs if frames(each)), default=None)


def _is_before(on: list[Input], oldest: int) -> bool:
    first = _least(on, lambda each: each.behind)
    return first is not None and first < oldest
