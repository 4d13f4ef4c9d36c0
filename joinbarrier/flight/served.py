# SPDX-License-Identifier: Apache-2.0
"""The journals of a server: the directories that it was started with and no others, whatever a client asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.walk import OnLoss
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.schema.errors import JournalNotServed


class Served:
    """The served journals, by their real paths: a link that is changed later leads nowhere else."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.paths = tuple(dict.fromkeys(str(each.resolve()) for each in directories))

    def table(self, path: str, table: Table = "rows", on_loss: OnLoss = "error") -> JournalTable:
        """Open a table of a served journal. It is opened for each request, because the journal may have been
        re-created.

        Raises JournalNotServed, JournalMissing, JournalDamaged or JournalNewer.
        """
        # Only compare texts: a path from a client must not reach the file system.
        if path not in self.paths:
            raise JournalNotServed("this server has no such journal", have=path[:200])
        return JournalTable(path, table, on_loss)
