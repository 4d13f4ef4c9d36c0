# SPDX-License-Identifier: Apache-2.0
"""Two sources that cost nothing themselves: one gives the batches of a journal from memory, one never has a row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows
from framegate.joinbarrier.spark.read.columns import spark_schema
from framegate.joinbarrier.spark.read.read_range import read_range
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from dev.bench.spark_bed import INPUTS

FROM_MEMORY: Final = "framegate-bench-memory"
EMPTY: Final = "framegate-bench-empty"
IS_WARM: Final = "warm"
LATE: Final = "late"
_kept: Final = dict[RangeOfRows, list[pa.RecordBatch]]()
"""This worker's; workers are used again."""


@dataclass
class KeptPartition(InputPartition):
    """A task's rows."""

    wanted: RangeOfRows


def ranges_as_text(ranges: list[RangeOfRows]) -> str:
    """For the option ``ranges``."""
    return json.dumps([asdict(replace(each, spot=None)) for each in ranges])


class FromMemory(DataSource):
    """The tasks and batches of a batch query over a journal, copied into each worker before they are measured."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FROM_MEMORY

    def schema(self) -> StructType:
        """As the journal's."""
        return spark_schema("rows", INPUTS, "value")

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - Spark's arguments, here and below
        """For ``spark.read``."""
        return _KeptReader(self.options["ranges"], self.options["home"])


class _KeptReader(DataSourceReader):
    def __init__(self, ranges: str, home: str) -> None:
        self._ranges, self._home = [RangeOfRows(**each) for each in json.loads(ranges)], home

    def partitions(self) -> list[InputPartition]:
        return [KeptPartition(each) for each in self._ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, KeptPartition)  # noqa: S101  (for the type checker)
        if partition.wanted not in _kept:
            for each in self._ranges:
                _kept[each] = [_copied(piece) for piece in _read(each)]
            if (Path(self._home) / IS_WARM).exists():
                # A new worker in the middle of the measurement: that run is not the null source's fault.
                (Path(self._home) / LATE).touch()
        return iter(_kept[partition.wanted])


def _read(wanted: RangeOfRows) -> Iterator[pa.RecordBatch]:
    return read_range(wanted, SourceOptions.parse({"path": wanted.path}), INPUTS)


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(batch.serialize(), batch.schema)


class Empty(DataSource):
    """A stream over the columns of a journal that always goes on and never has a row."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return EMPTY

    def schema(self) -> StructType:
        """As the journal's."""
        return spark_schema("rows", INPUTS, SourceOptions.parse({**self.options, "path": "-"}).payload)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's name
        """For ``spark.readStream``."""
        return _EmptyReader()


class _EmptyReader(DataSourceStreamReader):
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"row": 0}

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:  # noqa: N802, ARG002
        return {"row": start["row"] + 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return iter(())
