# SPDX-License-Identifier: Apache-2.0
"""What is joined, and how its checkpoints are taken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

EXACT: Final = ("sequence", "timestamp")
"""Policies whose rows are the same after any kill; of the others it is promised that none comes twice (P8)."""
POLICIES: Final = (*EXACT, "latest", "union")
JOINED: Final = "joined"
"""The input of a second agent that is the output of the first."""
_RULES: Final[Mapping[str, Mapping[str, str]]] = {
    "sequence": {"a": "offset = 0", "b": "offset = -2", "c": "window = 3"},
    "timestamp": {"a": "offset_ns = 0", "b": "offset_ns = 0", "c": "window_ns = 25_000_000"},
    "latest": {"a": "", "b": "", "c": ""},
    "union": {"a": "", "b": "", "c": ""},
}
_IS_DRIVEN: Final = ("timestamp", "latest")
"""By its first input; the others count."""
_OUT: Final = 20_001


@dataclass(frozen=True, slots=True)
class Stage:
    """One agent of a pipeline."""

    program: str
    out_stream: int
    rules: Mapping[str, str]
    """Of each input by its name; an input is a stream of the recording, or what the first stage joined."""
    publish: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A join of the recording, or two of which the second one reads what the first one publishes."""

    policy: str
    is_unaligned: bool
    is_chained: bool = False

    @property
    def name(self) -> str:
        """Its pipeline's too."""
        chained = "-chained" if self.is_chained else ""
        return f"{self.policy}-{'unaligned' if self.is_unaligned else 'aligned'}{chained}"

    @property
    def is_exact(self) -> bool:
        """Whether its rows must equal those of a run without kills."""
        return self.policy in EXACT

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its agents, in the order in which frames come to them."""
        rules = _RULES[self.policy]
        if not self.is_chained:
            return (Stage("agent", _OUT, rules),)
        first, second = {name: rules[name] for name in ("a", "b")}, {JOINED: rules["a"], "c": rules["c"]}
        return Stage("agent", _OUT, first, publish="a"), Stage("second", _OUT + 1, second)

    def driver_section(self, store: Path, interval_ms: int) -> str:
        """For driver.toml."""
        keys = {
            "dir": str(store / self.name),
            "interval_ms": interval_ms,
            "operator_timeout_ms": 1_000,
            "alignment_timeout_ms": 1_000,
            "late_barrier_timeout_ms": 2_000,
            "force_unaligned": self.is_unaligned,
        }
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
        return f"[checkpoint.{self.name}]\n{lines}\n"

    def join(self, stage: Stage, journal: Path, streams: Mapping[str, int]) -> str:
        """A stage's join.toml. ``streams``: of the recording, by their names."""
        head = {
            "out_stream": stage.out_stream,
            "policy": self.policy,
            "journal": str(journal),
            "drive": f"input:{next(iter(stage.rules))}" if self.policy in _IS_DRIVEN else "counter",
            "pipeline": self.name,
            "on_input_restart": "stop",
        }
        if stage.publish:
            head |= {"publish": stage.publish, "wait_consumers": 1}
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in head.items())
        # Segments so small that kills come between two of them.
        text = f'[join]\n{lines}\n[journal]\nseal_rows = 16\nseal_bytes = "64KiB"\nsegment_bytes = "256KiB"\n'
        for name, rule in stage.rules.items():
            text += f'\n[[input]]\nname = "{name}"\nstream = {streams.get(name, _OUT)}\n{rule}\n'
        return text
