# SPDX-License-Identifier: Apache-2.0
"""Checks whether the rows of a journal consist of a recording's frames, byte for byte.

Every cell of every row is identified by a digest of its frame: number, time, trace, type, shape and payload. The
receive time and the producer's epoch are left out, because a replay cannot repeat them. Frames that are in no row are
counted. To find rows that only one of two journals has, use `framegate journal diff`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.row import JoinedInput
from framegate.recording.frames import FrameOfRecording, LeftOut, Passage
from framegate.recording.header_time import LOG
from framegate.recording.source import open_source
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns

_QUIET_NS: Final = 500_000_000
_PATIENCE_NS: Final = 10_000_000_000
_LOOK_NS: Final = 20_000_000
_DIGEST_BYTES: Final = 16
_Key: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first cell that is not the recording's frame."""

    row: int
    out_seq: int
    input: str
    seq: int
    what: str


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check."""

    rows: int
    cells: int
    """How many cells hold the recording's frame."""
    unchecked: int
    """How many cells hold frames whose payload the recording lacks."""
    not_joined: int
    """How many frames of the journal's streams are in no row."""
    digest: str
    """A digest of all rows in order. Journals with the same digest hold the same, receive times and epochs left out."""
    first_difference: FirstDifference | None

    @property
    def is_same(self) -> bool:
        """Whether nothing contradicts the recording."""
        return self.first_difference is None

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"is_same": self.is_same, **asdict(self)}

    def __str__(self) -> str:
        told = f"{self.rows} rows, {self.cells} frames as recorded, {self.unchecked} that the recording lacks, "
        told += f"{self.not_joined} recorded ones in no row; digest {self.digest}"
        found = self.first_difference
        if found is None:
            return f"same: {told}"
        return (
            f"DIFFERENT at row {found.row} (out_seq {found.out_seq}), {found.input} {found.seq}: {found.what}; {told}"
        )


@dataclass(slots=True)
class _Known:
    """What the recording has under one sequence. There are several frames if an epoch began anew."""

    digests: list[tuple[bytes, ...]]
    is_without_payload: bool = False
    is_joined: bool = False


def check_journal(folder: Path, source: Path, topics: Mapping[str, int], times: str = LOG) -> Check:
    """Compare a journal with a recording. If the journal is being written, wait until nothing is added."""
    journal = Journal(folder)
    _wait_until_quiet(journal)
    streams = {each.name: each.stream for each in journal.info.inputs}
    known = _known_frames(source, topics, times, set(streams.values()))
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    rows = cells = unchecked = 0
    first: FirstDifference | None = None
    for row in journal.rows():
        rows += 1
        digest.update(repr((row["out_seq"], row["out_time_ns"])).encode())
        for name, cell in row.inputs.items():
            digest.update(cell.status.encode())
            if not cell.is_present or cell.seq is None:
                continue
            have = _parts(cell)
            digest.update(b"".join(have))
            found = known.get((streams[name], cell.seq))
            what = _difference(found, have)
            if found is not None:
                found.is_joined = True
            if what is None:
                cells += 1
            elif found is not None and found.is_without_payload:
                unchecked += 1
            elif first is None:
                first = FirstDifference(row["row"], row["out_seq"], name, cell.seq, what)
    not_joined = sum(not each.is_joined for each in known.values())
    return Check(rows, cells, unchecked, not_joined, digest.hexdigest(), first)


def _wait_until_quiet(journal: Journal) -> None:
    began_ns = quiet_since_ns = monotonic_ns()
    rows = journal.next_row
    while not _is_closed(journal):
        now_ns = monotonic_ns()
        if journal.next_row != rows:
            rows, quiet_since_ns = journal.next_row, now_ns
        if now_ns - quiet_since_ns >= _QUIET_NS or now_ns - began_ns >= _PATIENCE_NS:
            return
        sleep_ns(_LOOK_NS)


def _is_closed(journal: Journal) -> bool:
    head = Head.open(journal.path)
    return head is not None and head.is_closed


def _known_frames(source: Path, topics: Mapping[str, int], times: str, streams: set[int]) -> dict[_Key, _Known]:
    known: dict[_Key, _Known] = {}
    with open_source(source) as recording:
        for item in Passage(recording, topics, times):
            if item.stream not in streams:
                continue
            if isinstance(item, FrameOfRecording):
                known.setdefault((item.stream, item.seq), _Known([])).digests.extend(_of_frame(item))
            elif isinstance(item, LeftOut):
                known.setdefault((item.stream, item.seq), _Known([])).is_without_payload = True
    return known


_PARTS: Final = ("timestamp_ns", "trace_id", "dtype", "shape", "payload")


def _parts(cell: JoinedInput) -> tuple[bytes, ...]:
    assert cell.array is not None  # noqa: S101  (for the type checker: it is present)
    payload = memoryview(np.ravel(cell.array, order="K").view(np.uint8))
    return _digests(cell.timestamp_ns, cell.trace_id, cell.array, payload)


def _of_frame(frame: FrameOfRecording) -> Iterator[tuple[bytes, ...]]:
    # A join uses the slot header's time or the descriptor's, as its input is configured.
    for timestamp_ns in dict.fromkeys((frame.timestamp_ns, frame.descriptor_timestamp_ns)):
        yield _digests(timestamp_ns, frame.trace_id, frame.array, frame.payload)


def _digests(
    timestamp_ns: int | None, trace_id: int | None, array: npt.NDArray[Any], payload: bytes | memoryview
) -> tuple[bytes, ...]:
    said = (timestamp_ns, (trace_id or 0) & _U64, array.dtype.str, array.shape)
    return (*(repr(each).encode() for each in said), hashlib.blake2b(payload, digest_size=_DIGEST_BYTES).digest())


_U64: Final = (1 << 64) - 1


def _difference(known: _Known | None, have: tuple[bytes, ...]) -> str | None:
    """The part of a cell that differs from the recording; None if all of it agrees."""
    if known is None:
        return "the recording has no such frame"
    if have in known.digests:
        return None
    if not known.digests:
        return "the recording lacks its payload"
    # Of several frames, compare with the most similar one.
    nearest = max(known.digests, key=lambda want: sum(a == b for a, b in zip(want, have, strict=True)))
    return ", ".join(
        f"{part} differs" if part == "payload" else f"{part} is {a.decode()}, recorded was {b.decode()}"
        for part, a, b in zip(_PARTS, have, nearest, strict=True)
        if a != b
    )
