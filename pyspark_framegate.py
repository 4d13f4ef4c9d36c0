# SPDX-License-Identifier: Apache-2.0
"""How PySpark finds ``format("framegate")`` without being told: it looks for modules named ``pyspark_...``."""

from framegate.joinbarrier.spark.source import FramegateDataSource as DefaultSource

__all__ = ["DefaultSource"]
