# SPDX-License-Identifier: Apache-2.0
"""The examples of the journal's page and docstrings run as printed."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import framegate.joinbarrier.journal.layout
import pytest

from tests.unit.joinbarrier.journal.journal_world import segments_of

PACKAGE = Path(framegate.joinbarrier.journal.layout.__file__).parent
MODULES = (
    *(f"joinbarrier.journal.{name}" for name in ("layout", "checksum", "cursors", "doorbell", "printing")),
    "spec.journal.crc32c",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"framegate.{name}"), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_example_of_the_page_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out" / "joined").mkdir(parents=True)
    segments_of(folder / "out" / "joined", [3])
    monkeypatch.chdir(folder)
    (example,) = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.splitlines() == ["0 0 15 present", "1 1 21 present", "2 2 27 stale", "2 3", "{}"]


def test_every_file_is_named_on_the_page() -> None:
    page = (PACKAGE / "README.md").read_text()
    left_out = {"__init__.py", "naming.py"}
    assert {path.name for path in PACKAGE.glob("*.py")} - left_out <= set(re.findall(r"`(\w+\.py)`", page))
