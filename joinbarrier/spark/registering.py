# SPDX-License-Identifier: Apache-2.0
"""Making the format known to a session, and saying early what Spark would say late: no Java, another Python."""

from __future__ import annotations

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

PYSPARK_MIN: Final = (4, 3)
JAVA_MIN: Final = 17
_ANSWER_S: Final = 60
_ASKED: Final = "import sys, framegate; print(*sys.version_info[:2], sep='.')"


def register(spark: SparkSession) -> None:
    """Make ``format("framegate")`` known to this session. Raises PySparkMissing or WorkerPython."""
    check_pyspark()
    check_worker_python(worker_python(spark))
    from framegate.joinbarrier.spark.source import FramegateDataSource

    spark.dataSource.register(FramegateDataSource)


def session(name: str = "framegate", config: Mapping[str, str] | None = None) -> SparkSession:
    """A session that knows the format, with this program's Python for its workers unless PYSPARK_PYTHON says otherwise.

    What ``config`` does not say is as Spark has it. Raises PySparkMissing, JavaMissing or WorkerPython.
    """
    check_pyspark()
    check_java(os.environ)
    check_worker_python(os.environ.setdefault("PYSPARK_PYTHON", sys.executable))
    from framegate.joinbarrier.spark.source import FramegateDataSource
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in (config or {}).items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.dataSource.register(FramegateDataSource)
    return made


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
