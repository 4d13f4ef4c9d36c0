# SPDX-License-Identifier: Apache-2.0
"""A home for a cluster of Spark's own making: its workers keep their folders where Spark is installed, whoever owns
that. So it is shown an installation that is links to the real one, in a folder that goes."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from framegate.schema.errors import PySparkMissing


def linked_spark_home(folder: Path) -> Path:
    """Make it; the folder. Raises PySparkMissing."""
    real = _real_home()
    folder.mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name not in ("work", "logs"):
            (folder / entry.name).symlink_to(entry)
    return folder


def _real_home() -> Path:
    """Where Spark is: as it is told, else the package."""
    told = os.environ.get("SPARK_HOME")
    if told:
        return Path(told)
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise PySparkMissing("PySpark is not installed")
    return Path(found.origin).parent
