# SPDX-License-Identifier: Apache-2.0
"""The account of what retention removed: recomputed from what was written into the files that are gone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description

from framegate._native import JournalWriter
from tests.unit.joinbarrier.journal_writing import append, cell, files, rows, small_writer

_MODULUS = 1 << 64
_PAYLOAD = bytes(3000)
_ROWS = 300
_UNMATCHED = 1_000_000
"""More than 64 MiB of entries: the bound of that table."""


def account_of(folder: Path, table: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / table / "retired.json").read_text())
    return found


def ranges_of(seqs: Iterable[int]) -> list[list[int]] | None:
    found: list[list[int]] = []
    for seq in sorted(set(seqs)):
        if found and found[-1][1] + 1 == seq:
            found[-1][1] = seq
        else:
            found.append([seq, seq])
    return found if len(found) <= 64 else None


def expected(name: str, epoch: int, fate: str, seqs: list[int]) -> dict[str, Any]:
    """An entry, as it must be for cells with these sequences."""
    frames = sorted(set(seqs)) if fate == "joined" else seqs
    return {
        "input": name,
        "epoch": epoch,
        "epochs": 1,
        "fate": fate,
        "frames": len(frames),
        "repeats": len(seqs) - len(frames),
        "first": min(frames),
        "last": max(frames),
        "sum": sum(frames) % _MODULUS,
        "squares": sum(seq * seq for seq in frames) % _MODULUS,
        "ranges": ranges_of(frames),
    }


def shape_of(row: int) -> dict[str, tuple[int, int] | None]:
    """What a row holds, by its number: epoch and sequence of each input."""
    return {
        "even": (1, row),
        "gaps": (1 + row // 100, 3 * row),
        "reused": (2, row // 3),
        "absent": None if row % 4 else (5, row),
    }


def write(writer: JournalWriter, numbers: Iterable[int], shape: Callable[[int], Any] = shape_of) -> None:
    for row in numbers:
        cells = {name: at and cell(_PAYLOAD, at[1], epoch=at[0]) for name, at in shape(row).items()}
        append(writer, cells, out_seq=row)
        writer.seal()


def check_rows(folder: Path) -> int:
    """The account is that of every row that is gone; how many are."""
    account = account_of(folder, "segments")
    left = rows(folder)
    before = int(left[0]["row"])
    assert (account["before"], account["table"], account["unread_rows"]) == (before, "rows", 0)
    gone: dict[tuple[str, int], list[int]] = {}
    for row in range(before):
        for name, at in shape_of(row).items():
            if at is not None:
                gone.setdefault((name, at[0]), []).append(at[1])
    found = {(each["input"], each["epoch"]): each for each in account["entries"]}
    assert found == {key: expected(*key, "joined", seqs) for key, seqs in gone.items()}
    return before


def test_the_account_of_rows_is_that_of_the_rows_that_are_gone(folder: Path) -> None:
    writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16)
    write(writer, range(_ROWS))
    writer.close()
    gone = check_rows(folder)
    assert 100 < gone < _ROWS
    assert account_of(folder, "segments")["segments"] > 3


def test_a_writer_that_comes_back_goes_on_with_the_account(folder: Path) -> None:
    for first, last in pairwise(range(0, _ROWS + 1, 60)):
        writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16)
        write(writer, range(first, last))
        writer.close()
        if first:
            check_rows(folder)


def test_a_segment_that_was_counted_and_not_removed_is_removed_and_not_counted_again(folder: Path) -> None:
    writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16)
    write(writer, range(60))
    writer.close()
    oldest = files(folder)[0]
    kept = oldest.read_bytes()
    writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16)
    write(writer, range(60, 120))
    writer.close()
    assert not oldest.exists()
    before = account_of(folder, "segments")
    oldest.write_bytes(kept)
    ended = [path for path in files(folder) if path != oldest]
    assert ended
    if int(ended[0].name.split("-")[1].split(".")[0]) != int(before["before"]):
        pytest.fail("the next segment begins where the account ends")
    small_writer(folder, list(shape_of(0)), max_bytes=6 << 16).close()
    assert not oldest.exists()
    check_rows(folder)


def test_the_account_of_unmatched_frames_is_that_of_the_entries_that_are_gone(folder: Path) -> None:
    writer = small_writer(folder, ["left", "right"])
    for entry in range(_UNMATCHED):
        if not writer.unmatched("left" if entry % 2 else "right", seq=entry, epoch=1 + entry % 3, cause="aged"):
            raise AssertionError("no room for an entry")
        if entry % 4000 == 3999:
            while True:
                try:
                    writer.seal()
                    break
                except Exception:
                    writer.wait_for_segment(60)
    writer.seal()
    writer.close()
    account = account_of(folder, "unmatched")
    before = account["before"]
    assert 0 < before < _UNMATCHED
    left = rows(folder, "unmatched")
    assert (left[0]["seq"], len(left)) == (before, _UNMATCHED - before)
    gone = Counter({(name, epoch): 0 for name in ("left", "right") for epoch in (1, 2, 3)})
    for entry in range(before):
        gone["left" if entry % 2 else "right", 1 + entry % 3] += 1
    assert {(each["input"], each["epoch"]): each["frames"] for each in account["entries"]} == gone
    for each in account["entries"]:
        name, epoch = each["input"], each["epoch"]
        seqs = [seq for seq in range(before) if (seq % 2 == 1) == (name == "left") and 1 + seq % 3 == epoch]
        assert each == expected(name, epoch, "aged", seqs)


def test_an_account_of_another_journal_epoch_means_nothing(folder: Path) -> None:
    writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16, journal_epoch=1)
    write(writer, range(60))
    writer.close()
    path = folder / "segments" / "retired.json"
    other = account_of(folder, "segments") | {"journal_epoch": 99, "before": 1 << 40}
    path.write_text(json.dumps(other))
    assert small_writer(folder, list(shape_of(0)), max_bytes=6 << 16, journal_epoch=1).recovered["next_row"] == 60


def test_the_description_repeats_both_accounts(folder: Path) -> None:
    writer = small_writer(folder, list(shape_of(0)), max_bytes=6 << 16, journal_epoch=1)
    write(writer, range(60))
    writer.close()
    inputs = tuple(JournalInput(name=name, stream=1) for name in shape_of(0))
    write_description(folder, JournalDescription(out_stream=1, inputs=inputs, journal_epoch=1))
    account = account_of(folder, "segments")
    told = json.loads((folder / "journal.json").read_text())["retired"]
    assert told == {"rows": {"before": account["before"], "entries": account["entries"]}}
    write_description(folder, JournalDescription(out_stream=1, inputs=inputs, journal_epoch=2))
    assert "retired" not in json.loads((folder / "journal.json").read_text())
