# SPDX-License-Identifier: Apache-2.0
"""The differences between the policies of a stage."""

from __future__ import annotations

from abc import ABC, abstractmethod

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.stage_core import StageCore


class Policy(ABC):
    """Decides which frames belong together."""

    def __init__(self, core: StageCore) -> None:
        self.core = core
        self.config = core.config
        self.anchor: Input | None = None
        """The input whose frames make the outputs, if one does and its own frames are picked."""

    @property
    def out_time_ns(self) -> int | None:
        """The time of the current output."""
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether the previous ``next`` found an output that is only not possible yet."""
        return False

    def arrival_cause(self, each: Input, frame: Frame) -> Cause | None:
        """Why a new frame can never be joined; None if it may be."""
        return None

    def arrived(self, each: Input, frame: Frame, now_ns: int) -> None:
        """Called when a frame, perhaps a lost one, was added to those that wait."""

    def observed(self, source: Source, is_new: bool, now_ns: int) -> None:
        """Called when a frame of a stream came."""

    def new_epoch(self) -> None:
        """Called when a new epoch of the output begins."""

    def is_near(self, each: Input, out: int, now_ns: int) -> bool | None:
        """Whether the nearest frame is certain; None if it is not, and nothing excuses that."""
        return True

    @abstractmethod
    def next(self, now_ns: int) -> list[Frame | None] | None:
        """The frames to try. None in place of a frame: ``absent`` says why."""

    @abstractmethod
    def joined(self, now_ns: int) -> None:
        """Called when the row was written and its frames were taken."""

    def failed(self, each: Input, frame: Frame) -> None:
        """Called when a frame of the attempt could not be read."""

    def state(self) -> dict[str, int]:
        """What the policy keeps in the state."""
        return {}

    def resume(self, state: dict[str, int]) -> None:
        """Take back what the policy kept in the state."""
