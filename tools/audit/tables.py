# SPDX-License-Identifier: Apache-2.0
"""The two tables of a journal on disk, read by pyarrow alone (PROTOCOL 16)."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

_SKIPPED_BYTES: Final = 8
"""The magic bytes of a finished file. An open segment lacks them: it is an Arrow stream up to its last sealed batch."""
_STATE_WORD: Final = slice(32, 40)
_FIRST_ROW_WORD: Final = slice(64, 72)
_NEXT_ROW_WORD: Final = slice(88, 96)
_CLOSED: Final = 2


class AuditError(Exception):
    """The journal, or what was published, cannot be read."""


class NoJournal(AuditError):
    """The folder holds no journal."""


class NoSuchFile(AuditError):
    """A file with published frames cannot be opened."""


class OtherFile(AuditError):
    """A file is not one with published frames."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One sealed batch."""

    columns: pa.RecordBatch
    first_row: int
    seal: int
    file: int
    """The ordinal of its file. One run of the agent wrote the file."""
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Description:
    """What ``journal.json`` and ``journal.head`` say."""

    journal_epoch: int
    policy: str
    inputs: dict[str, int]
    """The stream of each input."""
    is_closed: bool
    """Whether the last run of the agent ended in good order."""
    rows: int | None
    """The number of rows according to the head; None without a head."""
    is_offset: dict[int, set[str]] = field(default_factory=dict)
    """For each version of the map, the inputs whose frames may be in one row at most."""


def describe(journal: Path) -> Description:
    """Read the description of a journal. Raises AuditError."""
    try:
        found = json.loads((journal / "journal.json").read_text())
        inputs = {str(each["name"]): int(each["stream"]) for each in found["inputs"]}
        return Description(
            journal_epoch=int(found["journal_epoch"]),
            policy=str(found["policy"]),
            inputs=inputs,
            is_closed=_head_word(journal, _STATE_WORD) == _CLOSED,
            rows=_rows(journal),
            is_offset={int(each["version"]): _once(each, found["policy"]) for each in found.get("maps", ())},
        )
    except (FileNotFoundError, NotADirectoryError):
        raise NoJournal(f"there is no journal in {journal}") from None
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise AuditError(f"{journal / 'journal.json'} makes no sense: {broken!r}") from broken


def _once(applied: dict[str, Any], policy: str) -> set[str]:
    """The inputs whose frames may be in one row at most: by sequence those with an offset; and ``reuse = false``."""
    rules = [each for each in applied.get("rules", ()) if policy == "sequence" and each.get("offset") is not None]
    found = {str(each["input"]) for each in rules if "input" in each}
    local = applied.get("local")
    if isinstance(local, dict):
        found |= {name for name, keys in local.items() if isinstance(keys, dict) and keys.get("reuse") is False}
    return found


def _rows(journal: Path) -> int | None:
    past, first = _head_word(journal, _NEXT_ROW_WORD), _head_word(journal, _FIRST_ROW_WORD)
    return None if past is None or first is None else past - first


def _head_word(journal: Path, word: slice) -> int | None:
    try:
        return int.from_bytes((journal / "journal.head").read_bytes()[word], "little")
    except FileNotFoundError:
        return None


def batches(journal: Path, table: str, journal_epoch: int) -> Iterator[Batch]:
    """Every sealed batch of a table, in the order of its files. Raises AuditError."""
    folder = journal / table
    files: dict[int, Path] = {}
    for path in sorted(folder.glob("[0-9]*.*")):
        if path.suffix in {".open", ".arrow"}:
            files[int(path.name.partition(".")[0].partition("-")[0])] = path
    for ordinal in sorted(files):
        try:
            yield from _segment(files[ordinal], ordinal, journal_epoch)
        except FileNotFoundError:
            continue  # Retention dropped it, or it was renamed; its rows are in an account or in the next look.
        except (pa.ArrowException, ValueError, KeyError, TypeError) as broken:
            raise AuditError(f"{files[ordinal]} makes no sense: {broken!r}") from broken


def _segment(path: Path, ordinal: int, journal_epoch: int) -> Iterator[Batch]:
    with path.open("rb") as file:
        try:
            data = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:
            return  # The file is still empty.
    if path.suffix == ".arrow":
        opened = pa.ipc.open_file(data)
        found = (opened.get_batch_with_custom_metadata(index) for index in range(opened.num_record_batches))
    elif bytes(data[_SKIPPED_BYTES : 2 * _SKIPPED_BYTES]) == bytes(_SKIPPED_BYTES):
        return
    else:
        opened = pa.ipc.open_stream(data.slice(_SKIPPED_BYTES))
        found = opened.iter_batches_with_custom_metadata()
    facts = json.loads(opened.schema.metadata[b"framegate.segment"])
    if int(facts["journal_epoch"]) != journal_epoch:
        return
    for batch, metadata in found:
        numbers = json.loads(metadata[b"framegate.batch"])
        if int(numbers["generation"]) != int(facts["generation"]):
            return
        state = json.loads(metadata[b"framegate.state"].decode())
        yield Batch(batch, int(numbers["first_row"]), int(numbers["seal"]), ordinal, state)
