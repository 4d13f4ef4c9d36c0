# SPDX-License-Identifier: Apache-2.0
"""The example of the Spark source's page runs as printed, and the page names every file and option."""

from __future__ import annotations

import re
from pathlib import Path

import framegate.joinbarrier.spark.options
from framegate.joinbarrier.spark.options import NAMES
from pyspark.sql import SparkSession

from tests.unit.joinbarrier.journal.journal_world import fill, left, right, writer

PACKAGE = Path(framegate.joinbarrier.spark.options.__file__).parent
PAGE = (PACKAGE / "README.md").read_text()


def test_the_example_of_the_page_writes_what_it_computes(spark: SparkSession, folder: Path) -> None:
    (folder / "joined").mkdir()
    made = writer(folder / "joined")
    fill(made, 6)
    made.close()
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example.replace('"out/', f'"{folder}/'), "README.md", "exec"), names)  # noqa: S102 - our own page
    assert not names["query"].isActive  # type: ignore[attr-defined]  # a name of the page
    rows = {row.row: row.difference for row in spark.read.parquet(str(folder / "means")).collect()}
    assert rows == {row: None if row % 3 == 2 else float(left(row).mean() - right(row).mean()) for row in range(6)}


def test_every_file_and_every_option_is_named_on_the_page() -> None:
    named = set(re.findall(r"`([\w.]+)`", PAGE))
    assert {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"} <= named
    assert set(NAMES) <= named
