# SPDX-License-Identifier: Apache-2.0
"""Witnesses from outside share nothing with what they look at.

``tests/outside`` knows of framegate what a user does: the command line, and ``import framegate as fg``. The auditor
reads journals by code of its own.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OUTSIDE = ROOT / "tests" / "outside"
FOREIGN = {
    *("mcap", "pyarrow", "pytest"),
    *("foxglove", "foxglove_schemas_protobuf", "mcap_protobuf", "mcap_ros2", "numpy", "rosbags"),
}
"""What reads journals and runs tests, and what other programs write recordings with."""
WITHOUT_DEFAULTS = {
    "test_late_inputs.py": "what a lateness costs is its question",
    "test_beyond_the_bound.py": "what lies beyond pending_bytes is its question",
    "test_large_rings.py": "how a large ring comes to be is its question",
}
"""Files that may set slots, pending or lateness, and why."""


def sources() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests/outside"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if line.endswith(".py") and (ROOT / line).is_file()]


def imports(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or ".")
    return found


def programs(text: str) -> list[str]:
    """The users' programs in a file: its texts that import framegate."""
    texts = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    return [
        each for each in texts if isinstance(each, str) and re.search(r"^(import|from) framegate", each, re.MULTILINE)
    ]


def test_there_is_something_to_look_at() -> None:
    assert len(sources()) > 3


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_nothing_of_framegate_is_imported_there(path: Path) -> None:
    standard = set(__import__("sys").stdlib_module_names)
    for name in imports(path.read_text()):
        top = name.partition(".")[0]
        assert top in standard | FOREIGN or name.startswith("tests.outside"), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_users_programs_import_the_public_face_alone(path: Path) -> None:
    for program in programs(path.read_text()):
        lines = re.findall(r"^\s*((?:import|from) framegate.*)$", program, re.MULTILINE)
        assert set(lines) <= {"import framegate as fg"}, f"{path.name}: {lines}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_defaults_are_what_is_tried(path: Path) -> None:
    named = re.findall(r"--slots|\b(?:slots|pending|pending_bytes|lateness_ns)[\"']?\s*[:=]", path.read_text())
    assert not named or path.name in WITHOUT_DEFAULTS, f"{path.name} sets {set(named)}"


@pytest.mark.parametrize("path", sorted((ROOT / "tools" / "audit").glob("*.py")), ids=lambda path: path.name)
def test_the_auditor_shares_nothing_with_the_agent(path: Path) -> None:
    found = {name for name in imports(path.read_text()) if name.startswith("framegate")}
    assert all(name.startswith("framegate.tools.audit.") for name in found), f"{path.name} imports {found}"
