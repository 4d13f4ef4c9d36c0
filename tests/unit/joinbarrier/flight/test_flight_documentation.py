# SPDX-License-Identifier: Apache-2.0
"""The page names every file, the protocol every action, and the examples of docstrings run."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import framegate.joinbarrier.flight
import pytest
from framegate.joinbarrier.flight.actions import ACTIONS
from framegate.joinbarrier.flight.ticket import Ticket

PACKAGE = Path(framegate.joinbarrier.flight.__file__).parent
PAGE = (PACKAGE / "README.md").read_text()
PROTOCOL = (Path(__file__).parents[4] / "docs/formats.md").read_text().partition("## 19. ")[2]


def test_every_file_is_named_on_the_page() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"} == set(re.findall(r"`(\w+\.py)`", PAGE))


def test_every_action_and_field_is_in_the_protocol() -> None:
    named = set(re.findall(r"`(\w+)`", PROTOCOL))
    assert set(ACTIONS) | set(Ticket.__slots__) <= named


@pytest.mark.parametrize("name", ["endpoint", "ticket", "connections"])
def test_examples_of_the_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"framegate.joinbarrier.flight.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
