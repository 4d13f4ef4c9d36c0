# SPDX-License-Identifier: Apache-2.0
"""The work that every Spark measurement does on a joined pair, wherever its frames come from: the mean of both.

Frame by frame, as a user begins, or many frames at once, where numpy's calls would be what is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dev.bench.spark_bed import INPUTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def means(df: DataFrame, *kept: Any, at_once: bool = False) -> DataFrame:
    """The mean of both frames of each row as the column ``mean``, beside those that are to be kept."""
    from pyspark.sql.pandas.functions import arrow_udf

    udf: Any = arrow_udf(mean_of_many if at_once else mean_of_both, "double")  # type: ignore[call-overload,unused-ignore]
    return df.select(*kept, udf(*INPUTS).alias("mean"))


def frame_of(df: DataFrame, name: str) -> Any:
    """An input's column with no more in it than its frame needs: Spark carries every field of a struct along."""
    from pyspark.sql import functions as f

    kind: Any = df.schema[name].dataType
    needed = [field for field in kind.names if field in ("payload", "ref", "dtype", "shape")]
    return f.struct(*(f.col(f"{name}.{field}").alias(field) for field in needed)).alias(name)


def mean_of_both(left: pa.Array, right: pa.Array) -> pa.Array:
    """None where one of them is absent."""
    import framegate.spark as fgs

    pairs = zip(fgs.frames(left), fgs.frames(right), strict=True)
    found = [None if one is None or other is None else float(one.mean() + other.mean()) / 2 for one, other in pairs]
    return pa.array(found, pa.float64())


def mean_of_many(left: pa.Array, right: pa.Array) -> pa.Array:
    """The same of bytes, none of them absent."""
    return pa.array((_means(left) + _means(right)) / 2)


def _means(column: pa.Array) -> npt.NDArray[np.float64]:
    import framegate.spark as fgs

    flat = [stack.reshape(len(stack), -1) for stack in fgs.stacks(column)]
    # Whole numbers are added faster than numpy's mean, which makes each a float before.
    return np.concatenate([np.add.reduce(frames, axis=1, dtype=np.uint32) / frames.shape[1] for frames in flat])
