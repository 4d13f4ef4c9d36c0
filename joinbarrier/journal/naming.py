# SPDX-License-Identifier: Apache-2.0
"""Adds a file's path to errors that are raised below, where the code reads memory and knows no files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framegate.schema.errors import JournalDamaged, JournalNewer


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add ``path`` to the facts of any JournalDamaged or JournalNewer raised inside the block."""
    try:
        yield
    except (JournalDamaged, JournalNewer) as error:
        error.facts.setdefault("path", path)
        raise
