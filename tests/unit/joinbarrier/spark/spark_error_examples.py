# SPDX-License-Identifier: Apache-2.0
"""What raises each numbered error of the Spark source, through product code and without a JVM."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
from framegate.joinbarrier.spark import registering
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.spark.read.resolving import _by_row
from framegate.joinbarrier.spark.sink import check_columns
from framegate.joinbarrier.tables.offsets import from_spark
from framegate.joinbarrier.tables.references import MappedSegments

from tests.unit.joinbarrier.journal.journal_world import segments_of
from tests.unit.joinbarrier.spark.test_read_range import read


def _two_kinds_of_journal() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("a", "b")]
        for path in paths:
            path.mkdir()
            segments_of(path, [1])
        info = paths[1] / "journal.json"
        info.write_text(info.read_text().replace('"right"', '"centre"'))
        MicroBatches(SourceOptions.parse({"path": ",".join(map(str, paths))}), cores=1)


def _other_inputs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        segments_of(Path(folder), [1])
        read(Path(folder), 0, 1, inputs=("left", "centre"))


def _a_dropped_segment() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = segments_of(Path(folder), [1, 1])
        (batch,) = read(Path(folder), 0, 1, payload="reference")
        made.drop_oldest()
        MappedSegments().array(batch.column("left")[0].as_py()["ref"], "uint16", [2, 3])


def _a_value_too_many() -> None:
    batch = pa.RecordBatch.from_pydict({"row": [1]})
    list(_by_row([batch], lambda row: (row["row"], 2), pa.schema([("row", pa.int64())])))


SPARK_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    701: lambda: SourceOptions.parse({"path": "a", "maxRows": "1"}),
    702: lambda: SourceOptions.parse({"path": "a", "minPartitions": "0"}),
    703: lambda: SourceOptions.parse({}),
    704: lambda: SourceOptions.parse({"path": "a", "endpoint": "b"}),
    705: lambda: from_spark({"row": 1}, ["a"]),
    706: _two_kinds_of_journal,
    707: _other_inputs,
    708: _a_dropped_segment,
    709: lambda: MappedSegments().array("nowhere", "uint8", None),
    710: lambda: registering.check_pyspark(lambda _: "3.5.9"),
    711: lambda: registering.check_worker_python("/nowhere/python"),
    712: lambda: registering.check_java({"JAVA_HOME": "/nowhere", "PATH": str(Path(sys.executable).parent)}),
    713: _a_value_too_many,
    714: lambda: check_columns({"row": "bigint"}, {"row": "bigint", "mean": "double"}, "out"),
    715: lambda: SourceOptions.parse({"path": "a", "provider": "framegate", "owner": "me"}),
}
