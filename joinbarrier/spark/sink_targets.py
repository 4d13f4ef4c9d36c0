# SPDX-License-Identifier: Apache-2.0
"""Where ``exactly_once`` writes: files under a path, or a table of a catalog. Spark Connect has all that is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from uuid import uuid4

from framegate.joinbarrier.spark.registering import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_UNTYPED: Final = ("csv", "json", "text", "xml")
"""Formats whose types Spark guesses from what is written."""
_NOTHING_THERE: Final = frozenset(
    {
        "PATH_NOT_FOUND",
        "TABLE_OR_VIEW_NOT_FOUND",
        "UNABLE_TO_INFER_SCHEMA",  # A folder that a killed job left holds only hidden files.
        "DELTA_TABLE_NOT_FOUND",
        "DELTA_PATH_DOES_NOT_EXIST",
        "DELTA_MISSING_DELTA_TABLE",
    }
)
"""Spark's conditions for a target that is not there yet."""


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

    def make(self, rows: DataFrame) -> None:
        """Make it, without rows, where nothing is there."""

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
        return _if_there(lambda: _reader(session).format(self.format).load(self.name))

    def make(self, rows: DataFrame) -> None:
        """Nothing: the first files make the folder."""

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
        return _if_there(lambda: _reader(session).table(self.name))

    def make(self, rows: DataFrame) -> None:
        """Make the table of the batch's columns. With rows in it, a kill would leave files in the way of another."""
        columns = ", ".join(f"`{name}` {kind}" for name, kind in rows.dtypes)
        rows.sparkSession.sql(f"CREATE TABLE IF NOT EXISTS {self.name} ({columns}) USING {self.format}")

    def append(self, rows: DataFrame, columns: list[str]) -> None:
        """Add rows to the table."""
        rows.select(*columns).write.insertInto(self.name)


def _reader(session: SparkSession) -> DataFrameReader:
    """A reader that looks. A server of Spark Connect answers a question that it has heard before from its memory, and
    processes of ``foreachBatch`` ask their questions alike; so each gets an option that no other has."""
    return session.read.option("framegateLook", uuid4().hex) if is_connect(session) else session.read


def _if_there(read: Callable[[], DataFrame]) -> DataFrame | None:
    from pyspark.errors import AnalysisException

    try:
        found = read()
        found.schema  # noqa: B018 - of Spark Connect, this is the first question to its server
    except AnalysisException as error:
        # The part before the point: the rest says more of it.
        if (error.getCondition() or "").partition(".")[0] in _NOTHING_THERE:
            return None
        raise
    return found
