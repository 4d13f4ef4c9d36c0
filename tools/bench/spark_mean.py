# SPDX-License-Identifier: Apache-2.0
"""The work that every Spark measurement does on a joined pair, wherever its frames come from: the mean of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from framegate.tools.bench.spark_bed import INPUTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def means(df: DataFrame, *kept: Any) -> DataFrame:
    """The mean of both frames of each row as the column ``mean``, beside those that are to be kept."""
    from pyspark.sql.pandas.functions import arrow_udf

    udf: Any = arrow_udf(mean_of_both, "double")  # type: ignore[call-overload,unused-ignore]
    return df.select(*kept, udf(*INPUTS).alias("mean"))


def mean_of_both(left: pa.Array, right: pa.Array) -> pa.Array:
    """None where one of them is absent."""
    import framegate.spark as fgs

    pairs = zip(fgs.frames(left), fgs.frames(right), strict=True)
    found = [None if one is None or other is None else float(one.mean() + other.mean()) / 2 for one, other in pairs]
    return pa.array(found, pa.float64())
