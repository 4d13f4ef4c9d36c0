# SPDX-License-Identifier: Apache-2.0
"""``[checkpoint.NAME]`` of a driver.toml: the pipelines whose checkpoints this driver coordinates."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from framegate.joinbarrier.checkpoint.coordinator.actions import CoordinatorRules
from framegate.schema.config.types import U32, Conflict, PositiveU32, Section, wanted
from pydantic import AfterValidator, Field

_NS_PER_MS: Final = 1_000_000
_STORING_MS: Final = 30_000
"""How long storing may take, on top of the two time-outs of the alignment."""
_PIPELINE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _store(value: str) -> str:
    # The text travels in a message of schema 920. A line break would also split a line of the driver's log.
    if not re.fullmatch(r"[ -~]{1,1024}", value):
        raise wanted("a directory or a URI, 1 to 1024 characters of printable ASCII")
    return value


class CheckpointSection(Section):
    """One pipeline, by its name.

    - ``dir`` is where its checkpoints are kept: a directory, or a URI such as ``s3://bucket/folder``. No two pipelines
      may share one. ``keep`` is how many checkpoints are kept.
    - ``interval_ms`` is how often a checkpoint begins by itself; 0 means only on request.
    - An input is blocked for ``alignment_timeout_ms`` at most. Then, if ``unaligned`` is true, the snapshot is taken
      before the late barriers, which may take ``late_barrier_timeout_ms`` more to arrive. If it is false, the
      checkpoint is given up. With ``force_unaligned`` no input is ever blocked.
    - ``checkpoint_timeout_ms`` is the longest that a whole checkpoint may take; by default both of these and 30 s.
    - An operator that sends nothing for ``operator_timeout_ms`` is lost, and no checkpoint begins without it.
    """

    dir: Annotated[str, AfterValidator(_store)]
    interval_ms: U32 = 0
    alignment_timeout_ms: PositiveU32 = 1_000
    unaligned: bool = True
    force_unaligned: bool = False
    late_barrier_timeout_ms: PositiveU32 = 10_000
    keep: PositiveU32 = 3
    operator_timeout_ms: PositiveU32 = 3_000
    checkpoint_timeout_ms: PositiveU32 = Field(
        default_factory=lambda data: data["alignment_timeout_ms"] + data["late_barrier_timeout_ms"] + _STORING_MS
    )

    @property
    def place(self) -> str:
        """``dir`` as other processes find it: absolute, because they have other working directories."""
        return self.dir if "://" in self.dir else os.path.abspath(self.dir)  # noqa: PTH100 - links stay as they are

    def rules(self, pipeline: str) -> CoordinatorRules:
        """The rules for the coordinator of this pipeline."""
        return CoordinatorRules(
            pipeline=pipeline,
            store=self.place,
            interval_ns=self.interval_ms * _NS_PER_MS,
            alignment_timeout_ms=self.alignment_timeout_ms,
            late_barrier_timeout_ms=self.late_barrier_timeout_ms,
            operator_timeout_ms=self.operator_timeout_ms,
            checkpoint_timeout_ns=self.checkpoint_timeout_ms * _NS_PER_MS,
            is_unaligned_allowed=self.unaligned,
            is_forced=self.force_unaligned,
        )


def wrong_pipelines(sections: Mapping[str, CheckpointSection]) -> Iterator[Conflict]:
    """The conflicts: invalid names, stores that two pipelines would write to, and contradictory settings."""
    places: dict[str, str] = {}
    for name, section in sections.items():
        key = ("checkpoint", name)
        if not _PIPELINE.fullmatch(name):
            yield Conflict(
                (*key, "dir"), key, f'a pipeline has 1 to 64 letters, digits, - and _ for a name, not "{name}"'
            )
        if (owner := places.setdefault(section.place, name)) != name:
            message = f"{section.place} is the store of two pipelines"
            yield Conflict((*key, "dir"), ("checkpoint", owner, "dir"), message)
        if section.force_unaligned and not section.unaligned:
            message = "unaligned checkpoints are forced and are off"
            yield Conflict((*key, "force_unaligned"), (*key, "unaligned"), message)
