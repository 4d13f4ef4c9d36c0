# SPDX-License-Identifier: Apache-2.0
"""What is checked in is what the generator writes from the XML. A missing Java is a failure, not a reason to skip."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dev.codegen import __main__ as codegen


def test_generated_files_are_those_of_the_xml(capfd: pytest.CaptureFixture[str]) -> None:
    assert shutil.which("java"), "Java 17 or newer is needed: without it nothing proves that the codecs match their XML"
    code = codegen.main(["--check"])
    out, err = capfd.readouterr()
    assert code == 0, f"{out}{err}"


def test_changed_missing_and_left_over_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fresh, project = tmp_path / "fresh", tmp_path / "project"
    for base, names in ((fresh, ("same", "changed", "missing")), (project, ("same", "changed", "left_over"))):
        for name in names:
            path = base / codegen.PYTHON / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name if name != "changed" else str(base))
    monkeypatch.setattr(codegen, "ROOT", project)
    stale = codegen.differences(fresh)
    assert [path.name for path in stale] == ["changed.py", "left_over.py", "missing.py"]
    assert codegen.report(stale) == 1
    assert "schema/gen/left_over.py" in capfd.readouterr().out
    codegen.install(fresh, stale)
    assert codegen.differences(fresh) == []
