# SPDX-License-Identifier: Apache-2.0
"""What differs between the policies of a stage."""

from __future__ import annotations

from abc import ABC, abstractmethod

from framegate.joinbarrier.journal.causes import Cause
from framegate.spec.join.history import Frame, Input, Source
from framegate.spec.join.stage_core import StageCore


class Policy(ABC):
    """One way to tell which frames belong together."""

    def __init__(self, core: StageCore) -> None:
        self.core = core
        self.config = core.config
        self.anchor: Input | None = None
        """The input whose frames make the outputs, if one does and its own frames are picked."""

    @property
    def out_time_ns(self) -> int | None:
        """The current output's time."""
        return None

    @property
    def is_waiting(self) -> bool:
        """Whether the last ``next`` found something that is only not possible yet."""
        return False

    def arrival_cause(self, each: Input, frame: Frame) -> Cause | None:
        """Why a frame can never be joined, as it comes."""
        return None

    def arrived(self, each: Input, frame: Frame, now_ns: int) -> None:
        """A frame, which may be lost, is among those that wait."""

    def observed(self, source: Source, is_new: bool, now_ns: int) -> None:
        """A frame of a stream came."""

    def new_epoch(self) -> None:
        """The output goes on in another epoch."""

    def is_near(self, each: Input, out: int, now_ns: int) -> bool | None:
        """Whether a nearest frame can be told; None: no, and nothing excuses that."""
        return True

    @abstractmethod
    def next(self, now_ns: int) -> list[Frame | None] | None:
        """The frames to try; None in place of one: ``absent`` says why."""

    @abstractmethod
    def joined(self, now_ns: int) -> None:
        """The row is written, its frames are taken."""

    def failed(self, each: Input, frame: Frame) -> None:
        """A frame of the attempt could not be read."""

    def state(self) -> dict[str, int]:
        """What a resumed stage goes on from."""
        return {}

    def resume(self, state: dict[str, int]) -> None:
        """Go on from there."""
