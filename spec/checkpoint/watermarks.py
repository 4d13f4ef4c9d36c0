# SPDX-License-Identifier: Apache-2.0
"""How far each input's time has come, and how much of that counts for the operator (B12, P4)."""

from __future__ import annotations

from collections.abc import Iterable


class Watermarks:
    """The watermark of a blocked input passes, but counts only after the events behind its barrier were processed.

    Otherwise those events would be late before they were seen. So at a snapshot each input's newest watermark from
    before its barrier counts.
    """

    def __init__(self, num_inputs: int) -> None:
        self._newest: list[int | None] = [None] * num_inputs
        self._counted: list[int | None] = [None] * num_inputs

    def see(self, input_id: int, ms: int, *, is_blocked: bool) -> None:
        """Take a watermark of an input. Time does not go back."""
        newest = self._newest[input_id]
        self._newest[input_id] = ms if newest is None else max(newest, ms)
        if not is_blocked:
            self._counted[input_id] = self._newest[input_id]

    def unblock(self) -> None:
        """Let all watermarks count, because no input is blocked any longer."""
        self._counted = list(self._newest)

    def counted(self) -> list[int | None]:
        """The watermark that counts, for each input."""
        return list(self._counted)

    def operator(self, inputs: Iterable[int]) -> int | None:
        """The lowest watermark of these inputs; None while one of them has none, or if there are no inputs."""
        counted = [self._counted[input_id] for input_id in inputs]
        known = [ms for ms in counted if ms is not None]
        return min(known) if known and len(known) == len(counted) else None
