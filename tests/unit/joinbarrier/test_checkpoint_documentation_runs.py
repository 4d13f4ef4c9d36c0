# SPDX-License-Identifier: Apache-2.0
"""The examples of the checkpoint package's page and docstrings run as printed."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import framegate.joinbarrier.checkpoint as package
import pytest

PACKAGE = Path(package.__file__).parent
MODULES = (
    *("messages", "numbers", "aligner", "unaligned", "signal_aligner", "injector", "channel", "checkpoint_id"),
    *("inflight", "trigger_request", "operator.state"),
    *(
        f"coordinator.{name}"
        for name in ("coordinator", "ids", "schedule", "members", "requests", "alignment", "messages")
    ),
)


@pytest.mark.parametrize(
    "name",
    [
        *(f"joinbarrier.checkpoint.{name}" for name in MODULES),
        "spec.checkpoint.inflight",
        "spec.checkpoint.command_word",
    ],
)
def test_examples_of_the_docstrings_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"framegate.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_example_of_the_page_runs_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (PACKAGE / "README.md").read_text()
    example, printed = re.findall(r"```(?:python)?\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own page
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == printed.splitlines()


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "coordinator"], ids=lambda folder: folder.name)
def test_every_file_is_named_in_the_table_of_its_folder(folder: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", (PACKAGE / "README.md").read_text()))
    files = {str(path.relative_to(PACKAGE)) for path in folder.glob("*.py") if path.name != "__init__.py"}
    assert files <= named
