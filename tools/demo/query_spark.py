# SPDX-License-Identifier: Apache-2.0
"""The query in Spark: a stream of references over the live journal, resolved by the workers, a group a micro-batch."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.spark.read.resolving import resolve
from framegate.joinbarrier.spark.registering import session
from framegate.schema.console.reporting import emit
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.looking import SPARK_COLUMNS, Finding, Look
from framegate.tools.demo.query import READER, Teller
from framegate.tools.demo.spark_home import linked_spark_home

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_AGAIN_S: Final = 0.05
_CORES: Final = 2
_CHECKPOINT_FILES: Final = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_IN_PLACE: Final = {"payload": "reference"}
_BY_FLIGHT: Final = {"payload": "value", "forceFlight": "true", "minPartitions": str(_CORES)}
_CLUSTER: Final = {"spark.master": f"local-cluster[{_CORES},1,1024]", "spark.executor.memory": "1024m"}
_SETTINGS: Final = {
    "spark.master": f"local[{_CORES}]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    # A JVM of a minute gains nothing from what takes longer to compile than to run.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(_CORES),
    "spark.sql.session.timeZone": "UTC",
    # Renames files where the default one asks Hadoop for more: tens of milliseconds less a micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
}


def run(path: Path, look: Look, teller: Teller, stop: StopSignal, home: Path, endpoint: str | None = None) -> None:
    """Look at every row until the writer has ended, or we are told to. Raises what the query fails with.

    ``endpoint``: the journal's server; then Spark is a small cluster, and its executors read from there.
    """
    settings = {**_SETTINGS, "spark.local.dir": str(home), "spark.sql.warehouse.dir": str(home / "warehouse")}
    if endpoint is not None:
        settings |= _CLUSTER
        os.environ["SPARK_HOME"] = str(linked_spark_home(home / "cluster"))
    spark = session("framegate demo", settings)
    spark.sparkContext.setLogLevel("ERROR")
    _rehearse(spark, path, look, home)
    source = _IN_PLACE | {"path": str(path)} if endpoint is None else _BY_FLIGHT | {"endpoint": endpoint}
    query = _start(spark, source, look, teller, home / "checkpoint")
    try:
        _follow(query, path, teller, stop)
    finally:
        query.stop()
        spark.stop()


def _rehearse(spark: SparkSession, path: Path, look: Look, home: Path) -> None:
    """The same computation as a stream of two played rows, one for each core.

    Plans are compiled and workers started by it: that takes seconds, and cameras do not wait.
    """
    frame = {"status": "present", "timestamp_ns": 0, "dtype": "uint8", "shape": list(look.shape)}
    frame["payload"] = bytes(look.shape[0] * look.shape[1])
    row = {"row": 0, "out_seq": 0, "joined_at": datetime(1970, 1, 1, tzinfo=UTC), **dict.fromkeys(look.cameras, frame)}
    schema = spark.read.format("framegate").load(str(path)).schema
    played = str(home / "played")
    spark.createDataFrame([row, row], schema).repartition(_CORES).write.parquet(played)
    writing = _looked_at(spark.readStream.schema(schema).parquet(played), look).writeStream

    def collect(df: DataFrame, _batch: int) -> None:
        df.collect()

    rehearsal = writing.foreachBatch(collect).option("checkpointLocation", str(home / "rehearsal"))
    rehearsal.trigger(availableNow=True).start().awaitTermination()


def _looked_at(joined: DataFrame, look: Look) -> DataFrame:
    """What was found in each row, with the two columns that the look needs beside the journal's."""
    from pyspark.sql import functions as f

    newest = f.greatest(*(f.col(f"{name}.timestamp_ns") for name in look.cameras))
    timed = joined.withColumn("newest_ns", newest).withColumn("joined_ns", f.unix_micros("joined_at") * 1000)
    return resolve(timed, look, SPARK_COLUMNS)


def _start(spark: SparkSession, source: dict[str, str], look: Look, teller: Teller, checkpoint: Path) -> StreamingQuery:
    options = {"readerName": READER, "startingOffsets": "earliest", **source}
    joined = spark.readStream.format("framegate").options(**options).load()

    def tell(df: DataFrame, _batch: int) -> None:
        rows = df.collect()
        done_ns = monotonic_ns()
        for row in rows:
            teller.add(Finding(*row), done_ns)
        teller.tell()

    writing = _looked_at(joined, look).writeStream.foreachBatch(tell)
    return writing.option("checkpointLocation", str(checkpoint)).start()


def _follow(query: StreamingQuery, path: Path, teller: Teller, stop: StopSignal) -> None:
    last_batch = -1
    while not stop.wait(_LOOK_AGAIN_S):
        failure = query.exception()
        if failure is not None:
            raise failure
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != last_batch:
            if last_batch < 0:
                emit({"event": "ready"})
            last_batch = progress["batchId"]
            told = {"batch": last_batch, "rows": progress["numInputRows"], "ms": progress["durationMs"]}
            emit({"event": "micro_batch", **told})
        head = Head.open(path)
        # In this order: the writer seals its last rows before it says that it closed.
        if head is not None and head.is_closed and teller.rows >= head.next_row:
            return
