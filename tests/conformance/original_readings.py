# SPDX-License-Identifier: Apache-2.0
"""The source texts to the letter, where framegate reads them otherwise: mutations of the specification.

Each is a sentence of the specification and what the letter puts in its place. A mutated specification is a copy of the
package under another name, so that both can be asked in one test.
"""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Final, TypeAlias

from framegate.spec import checkpoint

PACKAGE: Final = Path(checkpoint.__file__).parent
Edit: TypeAlias = tuple[str, str, str]
"""A module, what stands there once, and what the letter says."""

READINGS: Final[dict[str, list[Edit]]] = {
    "B1": [
        (
            "injector",
            "return self.word.take()",
            "found = self.word.load()\n        self.word.store(EMPTY)\n        return found",
        )
    ],
    "B2": [
        ("injector", "if epoch < self.epoch:", "if False:"),
        (
            "injector",
            "return self._emitted(CheckpointBarrier(self.last_id + 1, ",
            "self.rounds = getattr(self, 'rounds', 0) + 1\n"
            "        return self._emitted(CheckpointBarrier(self.rounds, ",
        ),
    ],
    "B3": [
        (
            "command_word",
            "checkpoint_id, epoch = check_barrier(checkpoint_id, epoch)",
            "checkpoint_id, epoch = checkpoint_id & (1 << 64) - 1, epoch & EPOCH_MAX",
        )
    ],
    "B4": [("injector", "if asked.checkpoint_id <= self.last_id:", "if False:")],
    "B5": [("injector", "if self._polls % POLLS_PER_CLOCK != 1:", "if False:")],
    "B6": [("channel", "self._capacity + isinstance(message, CheckpointBarrier)", "self._capacity")],
    "B7": [
        ("buffers", "self.held_bytes + event.size > limits", "self.held_bytes + 40 > limits"),
        ("buffers", "self.held_bytes += event.size", "self.held_bytes += 40"),
    ],
    "B8": [("buffers", "len(self._waiting[input_id])", "self.events // self._settings.num_inputs")],
    "B9": [("aligner", " and barrier.checkpoint_id == current.barrier.checkpoint_id:", ":")],
    "B10": [("aligner", "if current is None or not current.is_triggered:", "if current is None:")],
    "B11": [
        (
            "history",
            "def abort(self, checkpoint_id: int) -> None:",
            "def abort(self, checkpoint_id: int) -> None:\n        return",
        )
    ],
    "B12": [("aligner", "is_blocked=self.is_blocked(input_id))", "is_blocked=False)")],
    "B13": [
        (
            "unaligned",
            "aborted = self._captured(input_id, message)",
            "if isinstance(message, Watermark) or self.aligner.is_blocked(input_id):\n"
            "            raise RuntimeError('unreachable')\n"
            "        aborted = self._captured(input_id, message)",
        ),
        (
            "unaligned",
            "        if is_new:\n",
            "        if is_new:\n            raise RuntimeError('unreachable')\n        if is_new:\n",
        ),
    ],
    "B14": [
        (
            "unaligned",
            "Cause.THRESHOLD, now_ns)]\n        return [*actions, action]",
            "Cause.THRESHOLD, now_ns, input_id)]\n        return [*actions, action]",
        ),
        (
            "unaligned",
            "cause: str, now_ns: int) -> list[Action]:",
            "cause: str, now_ns: int, by=None) -> list[Action]:",
        ),
        (
            "unaligned",
            "barrier = current.barrier.flagged()",
            "delivered, waiting = (delivered, waiting) if by is None else (1 << by, [])\n"
            "        barrier = current.barrier.flagged()",
        ),
    ],
    "B15": [
        ("unaligned", "if late is None or input_id not in late.owing:", "if True:"),
        ("unaligned", "        if late.owing:\n", "        if False:\n"),
    ],
    "B16": [("unaligned", "if current is not None and self.settings.is_enabled and self", "if False and self")],
    "B19": [("unaligned", "return [forward, *waiting]", "return [*waiting, forward]")],
    "B20": [
        (
            "aligner",
            'it counts as delivering the current and every later barrier (B20)."""\n',
            'it counts as delivering the current and every later barrier (B20)."""\n        return None\n',
        ),
        (
            "unaligned",
            "        if self.late is not None:\n            self.late.owing",
            "        if False:\n            self.late.owing",
        ),
    ],
    "B22": [
        (
            "unaligned",
            "if isinstance(message, Event) and current and self.aligner.is_blocked(input_id):",
            "if False:",
        )
    ],
    "B24": [("unaligned", "self._begins_aligned = True", "self._begins_aligned = False")],
    "P11": [("unaligned", "current.barrier.flagged()", "current.barrier")],
    "P14": [("history", "self.highest = floor", "self.highest = 0")],
    "P15": [("unaligned", "self.late, self.settings.late_barrier_timeout_ns", "self.late, None")],
}


@functools.cache
def specification(reading: str) -> dict[str, ModuleType]:
    """The modules of a specification by the letter."""
    name = f"checkpoint_by_{reading.lower()}"
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, name)
        package.mkdir()
        for source in PACKAGE.glob("*.py"):
            text = mutated(source, reading).replace("framegate.spec.checkpoint", name)
            (package / source.name).write_text(text)
        sys.path.insert(0, folder)
        try:
            return {
                source.stem: importlib.import_module(f"{name}.{source.stem}") for source in PACKAGE.glob("[a-z]*.py")
            }
        finally:
            sys.path.remove(folder)


def mutated(source: Path, reading: str) -> str:
    """The text of a module, by the letter."""
    text = source.read_text()
    for module, found, instead in READINGS[reading]:
        if module == source.stem:
            if text.count(found) != 1:
                # No assertion: a check that is to fail by the letter would be content with it.
                raise LookupError(f"{reading}: {found!r} stands {text.count(found)} times in {source.name}")
            text = text.replace(found, instead)
    return text
