# SPDX-License-Identifier: Apache-2.0
"""The query in Spark: a stream of the rows of the live journal, looked at by Spark's workers."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
from framegate.shmpool.clock import monotonic_ns
from framegate.tools.demo.cleaner import QUERY
from framegate.tools.demo.looking import SPARK_COLUMNS, Finding
from framegate.tools.demo.plan import Plan

from framegate.spark import RECOMMENDED, resolve, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_CORES: Final = 2
_SETTINGS: Final = {
    "spark.master": f"local[{_CORES}]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(_CORES),
    "spark.sql.session.timeZone": "UTC",
    **RECOMMENDED,
}
_CLUSTER: Final = {"spark.master": f"local-cluster[{_CORES},1,1024]", "spark.executor.memory": "1024m"}


@contextmanager
def looked_at_in_spark(
    plan: Plan,
    look: Callable[[Mapping[str, Any]], Finding],
    found: deque[tuple[Finding, int]],
    endpoint: str | None,
) -> Iterator[StreamingQuery]:
    """Put what was found in each row into a queue, with the time when it was there.

    ``endpoint`` is the journal's server: with one Spark is a small cluster, and its executors read from there.
    """

    def take(rows: DataFrame, _batch: int) -> None:
        results = rows.collect()
        done_ns = monotonic_ns()
        found.extend((Finding(*each), done_ns) for each in results)

    source = {"path": str(plan.journal), "payload": "reference"}
    if endpoint is not None:
        source = {"endpoint": endpoint, "payload": "value", "forceFlight": "true", "minPartitions": str(_CORES)}
    with _standard_error_in(plan.logs / "spark.log"):
        spark = _session(plan, is_cluster=endpoint is not None)
        # Plans are compiled and workers started by it: that takes seconds, and cameras do not wait.
        resolve(_played(spark, plan), look, SPARK_COLUMNS).collect()
        options = {"readerName": QUERY, "startingOffsets": "earliest", **source}
        joined = spark.readStream.format("framegate").options(**options).load()
        writing = resolve(joined, look, SPARK_COLUMNS).writeStream.foreachBatch(take)
        query = writing.option("checkpointLocation", str(plan.scratch / "checkpoint")).start()
        # There is nothing yet: this waits until the query does.
        query.processAllAvailable()
    try:
        yield query
    finally:
        query.stop()
        spark.stop()
        # The JVM ends with the demo's other processes: what py4j still wants to tell it then is nobody's affair.
        logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def _played(spark: SparkSession, plan: Plan) -> DataFrame:
    """Rows as those of the join, one for each core."""
    picture = {"status": "present", "timestamp_ns": 0, "dtype": "uint8", "shape": list(plan.shape)}
    picture["payload"] = bytes(plan.shape[0] * plan.shape[1])
    row: Mapping[str, Any] = {"row": 0, "out_seq": 0, "joined_at": datetime(1970, 1, 1, tzinfo=UTC)}
    rows = [{**row, **dict.fromkeys(plan.cameras, picture)}] * _CORES
    schema = spark.read.format("framegate").load(str(plan.journal)).schema
    return spark.createDataFrame(rows, schema).repartition(_CORES)


def _session(plan: Plan, *, is_cluster: bool) -> SparkSession:
    """Spark with all its files in the demo's folder."""
    scratch = plan.scratch
    # A JVM of a minute gains nothing from what takes longer to compile than to run.
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Djava.io.tmpdir={scratch}"
    folders = {"spark.local.dir": str(scratch), "spark.sql.warehouse.dir": str(scratch / "warehouse")}
    settings = _SETTINGS | folders | {"spark.driver.extraJavaOptions": java} | (_CLUSTER if is_cluster else {})
    if is_cluster:
        os.environ["SPARK_HOME"] = str(linked_spark_home(scratch / "cluster"))
    spark = session("framegate demo", settings)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def linked_spark_home(folder: Path) -> Path:
    """A cluster's workers keep their folders where Spark is installed, whoever owns that: links to it, in a folder."""
    folder.mkdir(parents=True)
    for entry in Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0]).iterdir():
        if entry.name not in ("work", "logs"):
            (folder / entry.name).symlink_to(entry)
    return folder


@contextmanager
def _standard_error_in(log: Path) -> Iterator[None]:
    """What is started here says what it says in a file."""
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
