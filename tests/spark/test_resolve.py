# SPDX-License-Identifier: Apache-2.0
"""What a function of ``resolve`` may give: a tuple, a dict, several of them, or none; and what has no column."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import framegate.spark as fgs
from tests.unit.joinbarrier.journal.journal_world import segments_of

COLUMNS = "row bigint, part string, value double"


@pytest.fixture
def joined(spark: SparkSession, folder: Path) -> DataFrame:
    segments_of(folder, [3])
    return spark.read.format("framegate").load(str(folder))


def resolved(joined: DataFrame, fn: Callable[[dict[str, Any]], Any]) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, fgs.resolve(joined, fn, COLUMNS).collect()))


def one_dict(row: dict[str, Any]) -> dict[str, Any]:
    return {"value": 0.5, "row": row["row"]}


def a_list(row: dict[str, Any]) -> list[Any]:
    return [(row["row"], "a", 1.0), {"row": row["row"], "part": "b"}][: row["row"]]


def a_generator(row: dict[str, Any]) -> Iterator[Any]:
    for number in range(row["row"]):
        yield row["row"], str(number), None


GIVEN: dict[str, tuple[Callable[[dict[str, Any]], Any], list[tuple[Any, ...]]]] = {
    "a tuple": (lambda row: (row["row"], "a", 2.0), [(row, "a", 2.0) for row in range(3)]),
    "a list of values": (lambda row: [row["row"], "a", 2.0], [(row, "a", 2.0) for row in range(3)]),
    "a dict": (one_dict, [(row, None, 0.5) for row in range(3)]),
    "a list of rows": (a_list, [(1, "a", 1.0), (2, "a", 1.0), (2, "b", None)]),
    "a generator": (a_generator, [(1, "0", None), (2, "0", None), (2, "1", None)]),
    "nothing": (lambda row: [], []),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_function_gives_rows_as_tuples_as_dicts_or_several_of_them(joined: DataFrame, name: str) -> None:
    fn, wanted = GIVEN[name]
    assert resolved(joined, fn) == wanted


REFUSED: dict[str, tuple[Any, str]] = {
    "a key": ({"row": 1, "mean": 2.0}, "have=['mean'] want=['row', 'part', 'value']: a value has no column"),
    "a value": ([(1, "a", 2.0, 3.0)], "have=4 want=3"),
    "a value too few": ([(1,)], "have=1 want=3"),
    "none": (None, "have=NoneType want=3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_has_no_column_is_refused_by_name(joined: DataFrame, name: str) -> None:
    given, says = REFUSED[name]

    with pytest.raises(PySparkException) as caught:
        resolved(joined, lambda row: given)
    text = str(caught.value)
    assert "[FG-713 WRONG_RESULT]" in "\n".join(text.splitlines()[:14])
    assert says in text


def test_nobody_is_warned_of_a_pandas_that_is_not_used(joined: DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        fgs.resolve(joined, one_dict, COLUMNS)
