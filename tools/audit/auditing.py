# SPDX-License-Identifier: Apache-2.0
"""``fg.audit``: the books of a journal, as a mapping and as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from framegate.tools.audit.books import Book, Finding, keep_books
from framegate.tools.audit.fates import read_fates
from framegate.tools.audit.published import read_published
from framegate.tools.audit.watch import Watch, unseen


class Audit(Mapping[str, Any]):
    """What became of every frame. As a mapping it is the summary of ``framegate audit --json``."""

    def __init__(self, books: Mapping[str, Book], notes: list[str]) -> None:
        self.books = books
        self.notes = notes
        """The reasons why the books cannot be exact."""
        self.summary: dict[str, Any] = {
            "event": "summary",
            "unexplained": sum(book.unexplained for book in books.values()),
            "inputs": {name: _figures(book) for name, book in books.items()},
            "notes": notes,
        }

    @property
    def unexplained(self) -> int:
        """How many frames have no fate, or two; 0 if the books balance."""
        return int(self.summary["unexplained"])

    @property
    def findings(self) -> list[Finding]:
        """The unexplained frames, as ranges with the reason."""
        return [finding for book in self.books.values() for finding in book.findings]

    def to_arrow(self) -> pa.Table:
        """A row for each input: published, joined, unmatched by cause, surplus, pending and unexplained."""
        rows = [{"input": name, **_figures(book)} for name, book in self.books.items()]
        numbers = [pa.field(name, pa.int64()) for name in ("published", "joined", "unmatched")]
        causes = pa.field("causes", pa.map_(pa.utf8(), pa.int64()))
        others = [pa.field(name, pa.int64()) for name in ("surplus", "pending", "unexplained")]
        schema = pa.schema([pa.field("input", pa.utf8()), *numbers, causes, *others])
        flat = [
            {**row, "unmatched": sum(row["unmatched"].values()), "causes": list(row["unmatched"].items())}
            for row in rows
        ]
        return pa.Table.from_pylist(flat, schema=schema)

    def to_pandas(self) -> Any:
        """``to_arrow`` as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary)

    def __len__(self) -> int:
        return len(self.summary)

    def __repr__(self) -> str:
        return f"Audit({self.summary})"


def audit(
    journal: str | os.PathLike[str],
    sent: Iterable[str | os.PathLike[str]] = (),
    recording: str | os.PathLike[str] | None = None,
) -> Audit:
    """Keep the books of a journal: find out what became of every published frame.

    ``sent`` are logs of ``framegate produce --sent-log``; ``recording`` is an MCAP file of ``framegate record``.
    Without any of them only frames with two fates are found, and ``published`` is None.

    ```
    books = fg.audit("out/joined", sent=["left.csv", "right.csv"])
    print(books["unexplained"], books.to_pandas())
    ```
    """
    return keep(Path(journal), [Path(path) for path in sent], None if recording is None else Path(recording))


def keep(journal: Path, sent: Iterable[Path], recording: Path | None, watch: Watch = unseen) -> Audit:
    """Keep the books like ``audit``; ``watch`` is told of the progress."""
    published = read_published(sent, recording, watch)
    fates = read_fates(journal, watch)
    return Audit(keep_books(fates, published), fates.notes)


def _figures(book: Book) -> dict[str, Any]:
    return {
        "published": book.published,
        "joined": book.joined,
        "unmatched": {cause: count for cause, count in sorted(book.unmatched.items()) if count},
        "surplus": book.surplus,
        "pending": book.pending,
        "unexplained": book.unexplained,
    }
