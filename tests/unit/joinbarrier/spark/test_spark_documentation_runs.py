# SPDX-License-Identifier: Apache-2.0
"""The examples of the Spark source's docstrings run as printed."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    *("spark.plan.parallel_questions", "spark.plan.ranges", "spark.plan.shares", "spark.options"),
    *("tables.extents", "tables.offsets"),
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"framegate.joinbarrier.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
