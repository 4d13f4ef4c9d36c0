# SPDX-License-Identifier: Apache-2.0
"""The journals of a server: the directories that it was started with, and no other, whatever a client calls them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.walk import OnLoss
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.schema.errors import JournalNotServed


class Served:
    """Known by their real paths: a link that is bent later leads nobody elsewhere."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.paths = tuple(dict.fromkeys(str(each.resolve()) for each in directories))

    def table(self, path: str, table: Table = "rows", on_loss: OnLoss = "error") -> JournalTable:
        """A table of one of them, opened anew: a journal may have begun anew since the last question.

        Raises JournalNotServed, JournalMissing, JournalDamaged or JournalNewer.
        """
        # Texts are compared. Nothing of the file system is asked about a path that a client made up.
        if path not in self.paths:
            raise JournalNotServed("this server has no such journal", have=path[:200])
        return JournalTable(path, table, on_loss)
