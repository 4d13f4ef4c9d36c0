# SPDX-License-Identifier: Apache-2.0
"""Requests for checkpoints: each waits, is served by the next checkpoint, and hears its outcome; or it is refused.

>>> rules = CoordinatorRules(pipeline="default", store="/data/ck")
>>> requests = Requests(rules, Voice(rules, epoch=3), Counter())
>>> def told(actions):
...     return [each.message.state.name for each in actions]
>>> requests.ask(TriggerCheckpoint(correlation_id=7, flags=0, pipeline="default")), told(requests.standing(7))
([], ['WAITING'])
>>> requests.serve(), told(requests.started(12)), told(requests.standing(7))
(False, ['STARTED'], ['STARTED'])
>>> told(requests.over(TriggerState.COMPLETE, 12, duration_ns=1, stored_bytes=80)), requests.standing(7)
(['COMPLETE'], [])
"""

from __future__ import annotations

from collections import Counter

from framegate.joinbarrier.checkpoint.coordinator.actions import Action, CoordinatorRules, Say
from framegate.joinbarrier.checkpoint.coordinator.messages import Voice
from framegate.joinbarrier.checkpoint.messages import UNALIGNED
from framegate.schema.control import TriggerCheckpoint, TriggerState


class Requests:
    """All requests that are not over, by correlation id."""

    def __init__(self, rules: CoordinatorRules, voice: Voice, counts: Counter[str]) -> None:
        self._rules = rules
        self._voice = voice
        self._counts = counts
        self._waiting: list[int] = []
        """The requests for the next checkpoint. All that come during one share the one after it."""
        self._is_unaligned = False
        """Whether a waiting request wants an unaligned checkpoint."""
        self._served: tuple[int, ...] = ()
        """The requests that the checkpoint under way serves."""
        self._started_id = 0
        """The id of that checkpoint; 0 if it is not stored yet."""

    @property
    def are_waiting(self) -> bool:
        """Whether a request waits for the next checkpoint."""
        return bool(self._waiting)

    # --- one request --------------------------------------------------------------------------------------

    def standing(self, correlation_id: int) -> list[Action]:
        """Report the state of a request; nothing if it is unknown or over."""
        if correlation_id in self._waiting:
            return [Say(self._voice.progress(correlation_id, TriggerState.WAITING))]
        if correlation_id not in self._served:
            return []
        state = TriggerState.STARTED if self._started_id else TriggerState.WAITING
        return [Say(self._voice.progress(correlation_id, state, checkpoint_id=self._started_id))]

    def ask(self, request: TriggerCheckpoint) -> list[Action]:
        """Add a new request, which waits from now on; or return its refusal."""
        self._counts["requests"] += 1
        asked = (request.correlation_id,)
        is_unaligned = bool(request.flags & UNALIGNED)
        if is_unaligned and not self._rules.is_unaligned_allowed:
            return self.refuse(asked, f"unaligned checkpoints are off (checkpoint.{self._rules.pipeline}.unaligned)")
        if len(self._waiting) >= self._rules.requests_max:
            return self.refuse(asked, f"{self._rules.requests_max} requests wait already")
        self._waiting.append(request.correlation_id)
        self._is_unaligned |= is_unaligned
        return []

    def refuse(self, correlation_ids: tuple[int, ...], reason: str) -> list[Action]:
        """Refuse these requests, which may also be for signals."""
        self._counts["requests_refused"] += len(correlation_ids)
        return [Say(self._voice.progress(each, TriggerState.REFUSED, reason=reason)) for each in correlation_ids]

    def refuse_waiting(self, reason: str) -> list[Action]:
        """Refuse all waiting requests."""
        waiting, _ = self._take_waiting()
        return self.refuse(waiting, reason)

    # --- those that one checkpoint serves -----------------------------------------------------------------

    def serve(self) -> bool:
        """Serve all waiting requests with a checkpoint that begins now; return whether one wants it unaligned."""
        self._served, is_unaligned = self._take_waiting()
        self._started_id = 0
        return is_unaligned

    def started(self, checkpoint_id: int) -> list[Action]:
        """Tell the served requests that the checkpoint's id is stored."""
        self._started_id = checkpoint_id
        return [action for each in self._served for action in self.standing(each)]

    def refuse_served(self, reason: str) -> list[Action]:
        """Refuse the served requests, because their checkpoint could not begin."""
        return self.refuse(self._take_served(), reason)

    def over(
        self, state: TriggerState, checkpoint_id: int, *, duration_ns: int, stored_bytes: int = 0, reason: str = ""
    ) -> list[Action]:
        """Tell the served requests that their checkpoint is complete or aborted."""
        return [
            Say(
                self._voice.progress(
                    each,
                    state,
                    checkpoint_id=checkpoint_id,
                    duration_ns=duration_ns,
                    stored_bytes=stored_bytes,
                    reason=reason,
                )
            )
            for each in self._take_served()
        ]

    def _take_waiting(self) -> tuple[tuple[int, ...], bool]:
        waiting, is_unaligned = tuple(self._waiting), self._is_unaligned
        self._waiting.clear()
        self._is_unaligned = False
        return waiting, is_unaligned

    def _take_served(self) -> tuple[int, ...]:
        served, self._served = self._served, ()
        return served
