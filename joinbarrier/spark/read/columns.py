# SPDX-License-Identifier: Apache-2.0
"""The columns of a query as Spark's types, and what a schema that Spark hands back says of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.schema import ROW_FIELDS
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.tables.shape import Payload, wanted_schema
from framegate.schema.errors import SchemaChanged
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_SIMPLE: Final = {
    pa.int64(): LongType(),
    pa.int32(): IntegerType(),
    pa.utf8(): StringType(),
    pa.binary(): BinaryType(),
    pa.timestamp("us", tz="UTC"): TimestampType(),
}


def spark_schema(table: Table, inputs: Sequence[str], payload: Payload) -> StructType:
    """The columns of a query."""
    return StructType(
        [StructField(field.name, _spark_type(field.type)) for field in wanted_schema(table, inputs, payload)]
    )


def inputs_of(schema: StructType, options: SourceOptions) -> tuple[str, ...]:
    """The inputs that a planned query has. Raises SchemaChanged where its columns are not the source's."""
    inputs = tuple(schema.names[len(ROW_FIELDS) :]) if options.table == "rows" else ()
    wanted = spark_schema(options.table, inputs, options.payload)
    for have, want in zip(schema.fields, wanted.fields, strict=False):
        if (have.name, have.dataType) != (want.name, want.dataType):
            raise SchemaChanged(
                "a column is not the source's",
                column=have.name,
                have=have.dataType.simpleString(),
                want=f"{want.name} {want.dataType.simpleString()}",
                hint="Leave out .schema(...): the journal says what its columns are.",
            )
    if len(schema.fields) != len(wanted.fields):
        raise SchemaChanged("columns are missing", have=len(schema.fields), want=len(wanted.fields))
    return inputs


def _spark_type(kind: pa.DataType) -> DataType:
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return StructType([StructField(field.name, _spark_type(field.type)) for field in fields])
    if pa.types.is_list(kind):
        return ArrayType(_spark_type(kind.value_type))
    return _SIMPLE[kind]
