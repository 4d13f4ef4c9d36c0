# SPDX-License-Identifier: Apache-2.0
"""The union policy: every frame makes a row of its own, in the order of arrival."""

from __future__ import annotations

from framegate.spec.join.history import Frame
from framegate.spec.join.stage_policy import Policy


class UnionPolicy(Policy):
    """The union policy: nothing waits for anything, and the other inputs of a row are not joined."""

    def next(self, now_ns: int) -> list[Frame | None] | None:
        self.core.pass_in_order()
        waiting = [each for each in self.core.inputs if each.pending]
        if not waiting:
            return None
        oldest = min(waiting, key=lambda each: each.pending[0].order)
        self.core.absent = [None if each is oldest else "not_joined" for each in self.core.inputs]
        return [each.pending[0] if each is oldest else None for each in self.core.inputs]

    def joined(self, now_ns: int) -> None:
        """Do nothing more than take the frame."""
