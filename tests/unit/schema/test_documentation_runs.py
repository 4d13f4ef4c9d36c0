# SPDX-License-Identifier: Apache-2.0
"""The examples of the package's page and docstrings run as printed."""

from __future__ import annotations

import doctest
from pathlib import Path

import framegate.schema
import framegate.schema.errors
import pytest

README = Path(framegate.schema.__file__).with_name("README.md")


def test_examples_of_the_page_run() -> None:
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("module", [framegate.schema, framegate.schema.errors], ids=lambda module: module.__name__)
def test_examples_of_the_docstrings_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
