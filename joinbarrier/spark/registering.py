# SPDX-License-Identifier: Apache-2.0
"""Making the format known to a session, and saying early what Spark would say late: no Java, another Python."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from framegate.schema.errors import JavaMissing, PySparkMissing, WorkerPython

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PYSPARK_MIN: Final = (4, 0)
JAVA_MIN: Final = 17
PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
_ANSWER_S: Final = 60
_ASKED: Final = "import sys, framegate; print(*sys.version_info[:2], sep='.')"

_log = logging.getLogger(__name__)


def register(spark: SparkSession) -> None:
    """Make ``format("framegate")`` known to this session, of a JVM beside this program or of Spark Connect.

    Tells the source how many cores the executors have. Logs one line where the session's filters do not reach it, and
    one after a query that carried payloads for nothing.
    Raises PySparkMissing or WorkerPython.
    """
    check_pyspark()
    if not is_connect(spark):
        check_worker_python(worker_python(spark))
    from framegate.joinbarrier.spark.source import FramegateDataSource
    from pyspark.errors import AnalysisException

    try:
        spark.dataSource.register(FramegateDataSource.with_cores(executor_cores(spark)))
    except AnalysisException as error:
        # PySpark 4.0 keeps the source that it has found by itself, which counts the driver's cores.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
    _say_if_not_pushed(spark)
    if not is_connect(spark):
        from framegate.joinbarrier.spark.unused_payload import watch

        watch(spark)


def session(name: str = "framegate", config: Mapping[str, str] | None = None) -> SparkSession:
    """A session that knows the format, with this program's Python for its workers unless PYSPARK_PYTHON says otherwise.

    Filters are handed down to the source. What else ``config`` does not say is as Spark has it. Raises PySparkMissing,
    JavaMissing or WorkerPython.
    """
    check_pyspark()
    given = {PUSHDOWN: "true", **(config or {})}
    if not (given.keys() & {"spark.remote"} or "SPARK_REMOTE" in os.environ):
        check_java(os.environ)
        check_worker_python(os.environ.setdefault("PYSPARK_PYTHON", sys.executable))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in given.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    register(made)
    return made


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is of Spark Connect: its server chooses the workers' Python, and shows no context."""
    return not hasattr(spark, "sparkContext")


def executor_cores(spark: SparkSession) -> int | None:
    """How many tasks the executors run at a time; None where the session does not say it.

    Executors that have been asked for count, as those of a cluster come after the session.
    """
    instances, cores = spark.conf.get("spark.executor.instances", "0"), spark.conf.get("spark.executor.cores", "1")
    asked = int(instances or 0) * int(cores or 1)
    if is_connect(spark):
        return asked or None
    return max(asked, spark.sparkContext.defaultParallelism)


def _say_if_not_pushed(spark: SparkSession) -> None:
    from framegate.joinbarrier.spark.pyspark_versions import has_filters

    if not has_filters():
        _log.warning("Spark filters rows by itself: PySpark hands filters down to sources from 4.1 on.")
    elif spark.conf.get(PUSHDOWN, "false") != "true":
        _log.warning("Spark filters rows by itself: set %s = true, and the source reads only what passes.", PUSHDOWN)


def check_pyspark(installed: Callable[[str], str] = version) -> None:
    """Raises PySparkMissing when PySpark is not here, or is too old for the source."""
    want = ".".join(map(str, PYSPARK_MIN))
    try:
        have = installed("pyspark")
    except PackageNotFoundError:
        raise PySparkMissing("PySpark is not installed", want=want) from None
    if tuple(int(part) for part in have.split(".")[:2]) < PYSPARK_MIN:
        raise PySparkMissing("PySpark is too old", want=want, have=have)


def worker_python(spark: SparkSession) -> str:
    """The program that this session starts for its workers."""
    return str(spark.sparkContext.pythonExec)


def check_worker_python(program: str) -> None:
    """Raises WorkerPython when the program is not there, is another version of Python, or has no framegate."""
    want = f"{sys.version_info[0]}.{sys.version_info[1]}"
    found = shutil.which(program)
    if found is None:
        raise WorkerPython("there is no such program", PYSPARK_PYTHON=program, want=sys.executable)
    try:
        asked = subprocess.run([found, "-c", _ASKED], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise WorkerPython(f"it does not run: {failure}", PYSPARK_PYTHON=found, want=sys.executable) from None
    if asked.returncode != 0:
        why = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise WorkerPython(f"it cannot import framegate: {why}", PYSPARK_PYTHON=found, want=sys.executable)
    if asked.stdout.strip() != want:
        raise WorkerPython("another version of Python", PYSPARK_PYTHON=found, want=want, have=asked.stdout.strip())


def check_java(environment: Mapping[str, str]) -> None:
    """Raises JavaMissing when the Java that Spark would start is not there or too old."""
    home = environment.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else "java"
    found = shutil.which(program, path=environment.get("PATH"))
    if found is None:
        raise JavaMissing("there is no such program", java=program, want=JAVA_MIN)
    try:
        asked = subprocess.run([found, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise JavaMissing(f"it does not run: {failure}", java=found, want=JAVA_MIN) from None
    version_text = re.search(r'version "(\d+)', asked.stderr)
    if version_text is None or int(version_text[1]) < JAVA_MIN:
        have = version_text[1] if version_text else (asked.stderr.strip().splitlines() or ["nothing"])[0]
        raise JavaMissing("it is too old, or no Java", java=found, want=JAVA_MIN, have=have)
