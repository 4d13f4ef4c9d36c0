# SPDX-License-Identifier: Apache-2.0
"""Where ``exactly_once`` writes: files under a path, or a table of a catalog. Spark Connect has all that is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession

_UNTYPED: Final = ("csv", "json", "text", "xml")
"""Formats whose types Spark guesses from what is written."""
_NOTHING_THERE: Final = frozenset(
    {
        "PATH_NOT_FOUND",
        "UNABLE_TO_INFER_SCHEMA",  # A folder that a killed job left holds only hidden files.
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_PATH_DOES_NOT_EXIST",
        "DELTA_MISSING_DELTA_TABLE",
    }
)
"""Spark's conditions for a path that holds no rows yet."""


class Target(Protocol):
    """What rows are appended to."""

    @property
    def name(self) -> str:
        """For people."""

    @property
    def is_typed(self) -> bool:
        """Whether it keeps the types of its columns."""

    def written(self, session: SparkSession) -> DataFrame | None:
        """What is there; None before the first batch."""

    def append(self, rows: DataFrame, columns: list[str]) -> None:
        """Add rows to it, in the order of its columns."""


@dataclass(frozen=True, slots=True)
class PathTarget:
    """Files of one format under a path."""

    name: str
    format: str

    @property
    def is_typed(self) -> bool:
        """Whether files of the format say what types their columns have."""
        return self.format.lower() not in _UNTYPED

    def written(self, session: SparkSession) -> DataFrame | None:
        """The files; None where there are none. Lists the folder."""
        from pyspark.errors import AnalysisException

        try:
            found = session.read.format(self.format).load(self.name)
            found.schema  # noqa: B018 - of Spark Connect, this is the first question to its server
        except AnalysisException as error:
            if _condition(error) in _NOTHING_THERE:
                return None
            raise
        return found

    def append(self, rows: DataFrame, columns: list[str]) -> None:
        """Add files."""
        rows.select(*columns).write.format(self.format).mode("append").save(self.name)


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table of a catalog."""

    name: str
    format: str
    """Of the table, if the first batch makes it."""

    @property
    def is_typed(self) -> bool:
        """Always: the catalog says it."""
        return True

    def written(self, session: SparkSession) -> DataFrame | None:
        """The table; None where there is none."""
        return session.table(self.name) if session.catalog.tableExists(self.name) else None

    def append(self, rows: DataFrame, columns: list[str]) -> None:
        """Add rows to the table. A new one is made without rows: files that a kill leaves would be in its way."""
        catalog = rows.sparkSession.catalog
        if not catalog.tableExists(self.name):
            catalog.createTable(self.name, source=self.format, schema=rows.select(*columns).schema)
        rows.select(*columns).write.insertInto(self.name)


def _condition(error: AnalysisException) -> str:
    # The part before the point: the rest says more of it.
    return (error.getCondition() or "").partition(".")[0]
