# SPDX-License-Identifier: Apache-2.0
"""What a query does on a host without the journal, without Spark: OPTIONS(JSON) INPUTS. Says what it found."""

from __future__ import annotations

import json
import sys

from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.batch_ranges import batch_ranges
from framegate.joinbarrier.spark.plan.starting import open_tables
from framegate.joinbarrier.spark.read.read_range import read_range
from framegate.schema.console.reporting import event
from framegate.schema.errors import FramegateError


def main(options: str, inputs: str) -> None:
    try:
        parsed = SourceOptions.parse(json.loads(options))
        (table,) = open_tables(parsed).values()
        found = [
            row
            for wanted in batch_ranges(parsed, (), cores=2)
            for batch in read_range(wanted, parsed, inputs.split(","))
            for row in batch.column("row").to_pylist()
        ]
        print(json.dumps({"event": "read", "table": type(table).__name__, "rows": found}))
    except FramegateError as error:
        print(json.dumps(event(error), default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
