# SPDX-License-Identifier: Apache-2.0
"""The account of frames that other tests rely on: it reads a journal as it is, and misses no frame that goes astray."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from framegate.spec.journal.writer import ReferenceJournalWriter

from tests.system.frame_account import Account, accounts
from tests.system.journal_table import is_finished, read_rows

EPOCH = 7
SENT = [(EPOCH, seq) for seq in range(6)]


@pytest.fixture
def writer(tmp_path: Path) -> ReferenceJournalWriter:
    """Of frames 0 to 5 of ``left``: 0, 1 and 4 are joined, 2, 3 and 5 are not."""
    writer = ReferenceJournalWriter(tmp_path, ["left"], out_stream=20_001, journal_epoch=1)
    for seq in (0, 1, 4):
        payload = np.full(4, seq, np.uint8)
        writer.append({"left": payload}, cells={"left": {"seq": seq, "epoch": EPOCH}}, out_seq=seq)
        if seq == 1:
            writer.seal({})
    note(writer, 2, 3, "superseded")
    note(writer, 5, 5, "pending_at_end")
    writer.seal({})
    return writer


def note(writer: ReferenceJournalWriter, first: int, last: int, cause: str) -> None:
    writer.unmatched("left", first, cause, epoch=EPOCH, seq_last=last)


@pytest.mark.parametrize("is_closed", [False, True])
def test_all_that_was_sealed_is_read_whether_the_segments_are_open_or_finished(
    writer: ReferenceJournalWriter, tmp_path: Path, is_closed: bool
) -> None:
    if is_closed:
        writer.close()
    assert is_finished(tmp_path) is is_closed
    rows = read_rows(tmp_path, payloads=True)
    assert [(row.row, row.out_seq, row.inputs["left"].payload) for row in rows] == [
        (0, 0, b"\0" * 4),
        (1, 1, b"\1" * 4),
        (2, 4, b"\4" * 4),
    ]
    account = accounts(tmp_path)["left"]
    assert account.counts() == {"superseded": 2, "pending_at_end": 1}
    account.check(SENT)


@pytest.mark.parametrize(
    ("wrong", "sent", "what"),
    [
        (Account(joined=set(SENT[:5])), SENT, "nothing is known of 1"),
        (Account(joined=set(SENT), causes={SENT[0]: "late"}), SENT, "joined and not joined"),
        (Account(joined=set(SENT), twice=[SENT[0]]), SENT, "more than one entry"),
        (Account(joined=set(SENT)), SENT[:5], "never sent"),
        (Account(joined=set(SENT[:5]), causes={SENT[5]: "late"}), SENT[:5], "never sent"),
        (Account(joined=set(SENT)), [], "nothing was sent"),
    ],
)
def test_a_frame_that_is_missing_twice_there_or_invented_is_told(
    wrong: Account, sent: list[tuple[int, int]], what: str
) -> None:
    with pytest.raises(AssertionError, match=what):
        wrong.check(sent)


def test_a_range_that_nobody_heard_may_hold_numbers_that_were_never_sent() -> None:
    Account(joined=set(SENT[:4]), causes=dict.fromkeys(SENT[4:], "agent_down")).check(SENT[:5])
