# SPDX-License-Identifier: Apache-2.0
"""What the Spark measurements stand on: a session with the recommended settings, and journals in shared memory."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from framegate.joinbarrier.journal.description import JournalDescription, JournalInput, write_description
from framegate.schema.errors import AddTimedOut

from framegate._native import JournalWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MIB: Final = 1 << 20
KIB: Final = 1 << 10
INPUTS: Final = ("left", "right")
EVENTS_HZ: Final = 1000
"""The pace at which the frames of a journal were taken, by their timestamps."""
_SEGMENT_BYTES: Final = 256 * MIB
_SEGMENT_S: Final = 60.0
_STEP: Final = 64
_HEAP: Final = "6g"


@contextmanager
def home() -> Iterator[Path]:
    """A folder in shared memory, gone afterwards."""
    made = Path(tempfile.mkdtemp(prefix="framegate-bench-spark-", dir="/dev/shm"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    """A task for each core, and the recommended settings. Logs nothing."""
    import framegate.spark as fgs

    logging.getLogger("py4j").setLevel(logging.ERROR)
    settings: Mapping[str, str] = {
        "spark.master": f"local[{cores()}]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": _HEAP,
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores()),
        "spark.log.level": "OFF",
        **fgs.RECOMMENDED,
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own.
        session = fgs.session("framegate bench", settings)
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


# --- journals --------------------------------------------------------------------------------------------------


def journal_of(folder: Path, frame_bytes: int, rows: int, inputs: tuple[str, ...] = INPUTS) -> Path:
    """A journal of rows that are not alike, sealed as ``framegate join`` does it by default under load."""
    folder.mkdir()
    described = tuple(JournalInput(name=name, stream=number) for number, name in enumerate(inputs))
    write_description(folder, JournalDescription(out_stream=1, journal_epoch=1, inputs=described))
    max_bytes = 2 * rows * frame_bytes * len(inputs) + 4 * _SEGMENT_BYTES
    writer = JournalWriter(folder, list(inputs), segment_bytes=_SEGMENT_BYTES, max_bytes=max_bytes)
    noise = np.random.default_rng(1).bytes(2 * frame_bytes)
    for row in range(rows):
        begin = row * _STEP % frame_bytes
        cell = {
            "payload": noise[begin : begin + frame_bytes],
            "seq": row,
            # Not from 0: there a watermark begins, and Spark takes what lies at it for late.
            "timestamp_ns": (row + 1) * 1_000_000_000 // EVENTS_HZ,
            "dtype": "uint8",
            "shape": [frame_bytes],
        }
        _append(writer, dict.fromkeys(inputs, cell), row)
    writer.close()
    return folder


def _append(writer: JournalWriter, cells: dict[str, Any], row: int) -> None:
    while (outcome := writer.append(cells, out_seq=row)) != "ready":
        if outcome == "seal_first":
            writer.seal()
        elif not writer.wait_for_segment(_SEGMENT_S):
            raise AddTimedOut("the journal gives no segment", counters=writer.counters())


# --- queries ---------------------------------------------------------------------------------------------------


def stream(spark: SparkSession, journal: Path, payload: str, rows_max: int | None = None) -> DataFrame:
    """The journal from its first row on; ``rows_max``: of a micro-batch, which has no other bound then."""
    made = spark.readStream.format("framegate").option("readerName", "bench").option("payload", payload)
    if rows_max is not None:
        made = made.option("startingOffsets", "earliest").option("maxRowsPerTrigger", str(rows_max))
        made = made.option("maxBytesPerTrigger", "1t")
    return made.load(str(journal))


def batches_of(query: StreamingQuery) -> list[Any]:
    """What Spark tells of every micro-batch that had rows, by its offsets: the first one only says where it begins."""
    return [told for told in query.recentProgress if told["batchId"] > 0 and any(map(_has_moved, told["sources"]))]


def _has_moved(source: Any) -> bool:
    return bool(source["startOffset"] != source["endOffset"])
