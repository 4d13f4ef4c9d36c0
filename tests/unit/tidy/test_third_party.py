# SPDX-License-Identifier: Apache-2.0
"""What is linked in has its licences in the wheel, and they are those of the present lock file."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dev import third_party

ROOT = Path(__file__).resolve().parents[3]
TEXT = third_party.NOTICES.read_text()
METADATA = """
import sys
sys.path.insert(0, "native/_build")
import backend
print(backend.prepare_metadata_for_build_wheel(sys.argv[1]))
"""


def test_the_notices_are_those_of_the_lock_file() -> None:
    assert third_party.is_fresh(), "native/Cargo.lock changed: run python -m dev.third_party"


def test_another_lock_file_makes_them_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "Cargo.lock"
    other.write_bytes(third_party.LOCK.read_bytes() + b"#")
    monkeypatch.setattr(third_party, "LOCK", other)
    assert not third_party.is_fresh()
    assert third_party.main(["--check"]) == 1


def test_every_package_that_is_named_is_locked_in_this_version() -> None:
    locked = {(each["name"], each["version"]) for each in tomllib.loads(third_party.LOCK.read_text())["package"]}
    listed = TEXT[: TEXT.index("=" * 80)].split("\n\n")[2].splitlines()
    named = {tuple(line.partition(":")[0].partition(",")[0].split()) for line in listed}
    assert len(named) > 50
    assert named <= locked


@pytest.mark.parametrize(
    "text",
    [
        ", aeron/LICENSE\n",
        ", zstd/LICENSE\n",
        "Permission is hereby granted, free of charge",
        "Redistribution and use in source and binary forms",
        "Apache License",
        "/LICENSE\n",
        "pyo3 ",
    ],
)
def test_the_texts_are_there(text: str) -> None:
    assert text in TEXT


def test_a_wheel_has_them(tmp_path: Path) -> None:
    words = [sys.executable, "-c", METADATA, str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    licences = tmp_path / done.stdout.split()[-1] / "licenses"
    assert {each.name for each in licences.iterdir()} == {"LICENSE", "THIRD-PARTY-LICENSES.txt"}
    assert (licences / "THIRD-PARTY-LICENSES.txt").read_text() == TEXT
