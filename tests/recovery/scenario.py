# SPDX-License-Identifier: Apache-2.0
"""What is joined, and how its checkpoints are taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.recovery.made_recording import INPUTS

EXACT: Final = ("sequence", "timestamp")
"""Policies whose rows are the same after any kill; of the others it is promised that none comes twice (P8)."""
POLICIES: Final = (*EXACT, "latest", "union")
_RULES: Final = {
    "sequence": {"a": "offset = 0", "b": "offset = -2", "c": "window = 3"},
    "timestamp": {"a": "offset_ns = 0", "b": "offset_ns = 0", "c": "window_ns = 25_000_000"},
    "latest": {"a": "", "b": "", "c": ""},
    "union": {"a": "", "b": "", "c": ""},
}
_DRIVES: Final = {"sequence": "counter", "timestamp": "input:a", "latest": "input:a", "union": "counter"}
_OUT: Final = 20_001


@dataclass(frozen=True, slots=True)
class Scenario:
    """One join of the recording."""

    policy: str
    is_unaligned: bool

    @property
    def name(self) -> str:
        """Its pipeline's too."""
        return f"{self.policy}-{'unaligned' if self.is_unaligned else 'aligned'}"

    @property
    def is_exact(self) -> bool:
        """Whether its rows must equal those of a run without kills."""
        return self.policy in EXACT

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

    def join(self, journal: Path, streams: Sequence[int]) -> str:
        """The join.toml."""
        head = {
            "out_stream": _OUT,
            "policy": self.policy,
            "journal": str(journal),
            "drive": _DRIVES[self.policy],
            "pipeline": self.name,
            "on_input_restart": "stop",
        }
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in head.items())
        # Segments so small that kills come between two of them.
        text = f'[join]\n{lines}\n[journal]\nseal_rows = 16\nseal_bytes = "64KiB"\nsegment_bytes = "256KiB"\n'
        for name, stream in zip(INPUTS, streams, strict=True):
            text += f'\n[[input]]\nname = "{name}"\nstream = {stream}\n{_RULES[self.policy][name]}\n'
        return text
