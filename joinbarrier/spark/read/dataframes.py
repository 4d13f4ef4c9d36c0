# SPDX-License-Identifier: Apache-2.0
"""Small things that users of the source would otherwise write: flat columns, one row for each input, event times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framegate.joinbarrier.journal.schema import ROW_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def flatten(df: DataFrame) -> DataFrame:
    """Columns ``left_seq``, ``left_status`` and so on instead of a struct for each input."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    flat: list[Column] = []
    for field in df.schema.fields:
        if isinstance(field.dataType, StructType):
            flat += [f.col(f"`{field.name}`.`{cell}`").alias(f"{field.name}_{cell}") for cell in field.dataType.names]
        else:
            flat.append(f.col(f"`{field.name}`"))
    return df.select(*flat)


def explode_inputs(df: DataFrame) -> DataFrame:
    """A row for each input of each row: the row's own columns, ``input``, and the fields of the struct."""
    from pyspark.sql import functions as f

    own = {field.name for field in ROW_FIELDS}
    inputs = [name for name in df.columns if name not in own]
    cells = [f.struct(f.lit(name).alias("input"), f.col(f"`{name}`.*")) for name in inputs]
    kept = [name for name in df.columns if name in own]
    return df.select(*kept, f.explode(f.array(*cells)).alias("cell")).select(*kept, "cell.*")


def event_time(column: Column | str, *, offset_ns: int = 0) -> Column:
    """A column of nanoseconds as a timestamp, for watermarks and windows: ``event_time("left.timestamp_ns")``.

    Times of the monotonic clock need ``offset_ns``, which ``framegate.journal(path).info`` has as
    ``realtime_minus_monotonic_ns``. What is finer than a microsecond is cut off.
    """
    from pyspark.sql import functions as f

    given = f.col(column) if isinstance(column, str) else column
    # Whole numbers all the way: `/` goes through floats, which cannot hold nanoseconds since 1970.
    return f.timestamp_micros(f.call_function("div", given + f.lit(offset_ns), f.lit(1000)))
