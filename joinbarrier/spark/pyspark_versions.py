# SPDX-License-Identifier: Apache-2.0
"""What the installed PySpark asks of a source: filters from 4.1 on, limits of micro-batches from 4.2 on."""

from __future__ import annotations

from importlib.util import find_spec

from framegate.joinbarrier.spark.options import SourceOptions
from framegate.schema.errors import PySparkMissing


def has_filters() -> bool:
    """Whether PySpark hands filters of batch queries down to a source."""
    from pyspark.sql import datasource

    return hasattr(datasource, "Filter")


def has_limits() -> bool:
    """Whether PySpark says where a micro-batch begins and how much it may hold."""
    return find_spec("pyspark.sql.streaming.datasource") is not None


def check_without_limits(options: SourceOptions) -> None:
    """Raises PySparkMissing for what a stream cannot keep where PySpark asks for all that is there."""
    if options.is_aligned:
        from pyspark import __version__

        raise PySparkMissing(
            "a micro-batch cannot end at a barrier with this PySpark",
            option="alignToCheckpoints",
            want="4.2",
            have=__version__,
        )
