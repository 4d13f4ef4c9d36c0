# SPDX-License-Identifier: Apache-2.0
"""Errors of a file get its path where it is known: what lies below reads memory and has never heard of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framegate.schema.errors import JournalDamaged, JournalNewer


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add ``path`` to the facts of whatever is found wrong inside the block."""
    try:
        yield
    except (JournalDamaged, JournalNewer) as error:
        error.facts.setdefault("path", path)
        raise
