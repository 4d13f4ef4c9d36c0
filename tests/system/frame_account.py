# SPDX-License-Identifier: Apache-2.0
"""The law of accounting: every frame that was sent is joined, or has one entry that says why not, or still pends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tests.system.journal_table import read_leftovers, read_rows

if TYPE_CHECKING:
    from tests.system.conftest import Program

Frame: TypeAlias = tuple[int, int]
"""Epoch and sequence."""
UNHEARD = "agent_down"
"""Of these the agent knows the numbers only: some may never have been sent."""


@dataclass
class Account:
    """What became of one input's frames."""

    joined: set[Frame] = field(default_factory=set)
    causes: dict[Frame, str] = field(default_factory=dict)
    twice: list[Frame] = field(default_factory=list)

    def check(self, sent: Iterable[Frame], *, may_pend: bool = False) -> None:
        """All that was sent is here, once; nothing else is, but for ranges that nobody heard."""
        all_sent = set(sent)
        assert all_sent, "nothing was sent"
        assert not self.twice, f"more than one entry: {self.twice[:10]}"
        assert not (both := self.joined & self.causes.keys()), f"joined and not joined: {sorted(both)[:10]}"
        invented = (self.joined | {frame for frame, cause in self.causes.items() if cause != UNHEARD}) - all_sent
        if isinstance(sent, Sent):
            invented -= sent.unannounced
        assert not invented, f"never sent: {sorted(invented)[:10]}"
        missing = all_sent - self.joined - self.causes.keys()
        assert may_pend or not missing, f"nothing is known of {len(missing)}: {sorted(missing)[:10]}"

    def counts(self) -> Counter[str]:
        """How many frames there are of each cause."""
        return Counter(self.causes.values())


class Sent(set[Frame]):
    """What a producer announced."""

    unannounced: set[Frame]
    """What it wrote and could not announce: it may be found in the ring."""


def sent(producer: Program) -> Sent:
    """What a counted producer announced in all; it ends by that."""
    producer.tell("close")
    said = producer.says(event="sent")
    found = Sent(_frames(said["ranges"]))
    found.unannounced = _frames(said["unannounced"])
    return found


def sent_so_far(producer: Program, word: str) -> set[Frame]:
    """What it has announced by now. The word is one that it was not asked before."""
    asked = f"report {word}"
    producer.tell(asked)
    return _frames(producer.says(event="report", word=asked)["ranges"])


def _frames(ranges: dict[str, list[tuple[int, int]]]) -> set[Frame]:
    return {(int(epoch), seq) for epoch, each in ranges.items() for low, high in each for seq in range(low, high + 1)}


def accounts(journal: Path) -> dict[str, Account]:
    """What a journal says of its inputs' frames."""
    found: dict[str, Account] = {}
    for row in read_rows(journal):
        for name, cell in row.inputs.items():
            account = found.setdefault(name, Account())
            if cell.epoch is not None and cell.seq is not None:
                account.joined.add((cell.epoch, cell.seq))
    for entry in read_leftovers(journal):
        account = found.setdefault(entry.input, Account())
        for seq in range(entry.seq, entry.seq_last + 1):
            frame = (entry.epoch, seq)
            if frame in account.causes:
                account.twice.append(frame)
            account.causes[frame] = entry.cause
    return found
