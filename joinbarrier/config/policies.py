# SPDX-License-Identifier: Apache-2.0
"""The policies of a join: what a join.toml may say under each, and what each keeps. This is their only list in Python;
``native/join/src/stage/policy.rs`` is the one in Rust.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

PolicyName: TypeAlias = Literal["sequence", "timestamp", "latest", "union"]
"""How it is told which frames belong together."""
DriveKind: TypeAlias = Literal["counter", "input", "clock", "watermark", "external"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What distinguishes one policy from another outside of the stage."""

    drives: tuple[DriveKind, ...]
    """What may make its outputs; the first is the default."""
    rule_keys: tuple[str, ...] = ()
    """The keys of an input that are its rule."""
    rows_without_map: str = ""
    """What its rows are, in words, if it needs no map to make them; otherwise empty."""
    numbers_kept: tuple[str, ...] = ()
    """The names of the numbers that it keeps in the state of a stage."""

    @property
    def needs_map(self) -> bool:
        """Whether rules of a map say which frames make a row."""
        return not self.rows_without_map


POLICIES: Final[dict[PolicyName, PolicyFacts]] = {
    "sequence": PolicyFacts(
        drives=("counter", "input"), rule_keys=("offset", "window"), numbers_kept=("next", "first", "last")
    ),
    "timestamp": PolicyFacts(
        drives=("input", "clock", "watermark", "external"),
        rule_keys=("offset_ns", "window_ns", "tolerance_ns"),
        numbers_kept=("time",),
    ),
    "latest": PolicyFacts(drives=("counter", "input", "clock", "watermark", "external")),
    "union": PolicyFacts(drives=("counter",), rows_without_map="every frame of every input as a row of its own"),
}
