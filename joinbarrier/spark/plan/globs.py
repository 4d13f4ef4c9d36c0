# SPDX-License-Identifier: Apache-2.0
"""Paths with ``*``, ``?`` or ``[...]``: every journal that they match when the query is planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from glob import glob, has_magic
from pathlib import Path

from framegate.joinbarrier.journal.layout import DESCRIPTION
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.schema.errors import JournalMissing


def with_journals(options: SourceOptions) -> SourceOptions:
    """The options with journals in place of patterns. Looks at nothing where there are none. Raises JournalMissing."""
    if options.access is not None or not any(map(has_magic, options.paths)):
        return options
    found = dict.fromkeys(journal for path in options.paths for journal in _journals(path))
    return replace(options, paths=tuple(found))


def _journals(path: str) -> Iterator[str]:
    """In the order of their names. What else matches, as a checkpoint beside its journal, is passed over."""
    if not has_magic(path) or Path(path).exists():
        yield path
        return
    matching = [each for each in sorted(glob(path)) if (Path(each) / DESCRIPTION).exists()]  # noqa: PTH207 - of any folder
    if not matching:
        raise JournalMissing("no journal matches", path=path)
    yield from matching
