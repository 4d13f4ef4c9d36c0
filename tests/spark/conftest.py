# SPDX-License-Identifier: Apache-2.0
"""One small Spark for all tests of the source, and a folder in shared memory for each of them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.own_folder import own_folder

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for a minute gains nothing from what takes longer to compile than to run."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own."""
    with own_folder("spark") as made:
        yield made


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, one JVM. The format is found by the module ``pyspark_framegate``, without being registered."""
    home = Path(tempfile.mkdtemp(prefix="framegate-spark-home-", dir="/dev/shm"))
    before = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    os.environ.update(dict.fromkeys(before, sys.executable))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark's own, and those of its helpers.
        session = (
            SparkSession.builder.master("local[2]")
            .appName("framegate tests")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.extraJavaOptions", SHORT_LIVED)
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.local.dir", str(home))
            .config("spark.sql.warehouse.dir", str(home / "warehouse"))
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.streaming.stopTimeout", "60s")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(home, ignore_errors=True)
