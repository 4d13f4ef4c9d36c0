# SPDX-License-Identifier: Apache-2.0
"""Writes the licences and notices of all that is compiled into the wheel: ``python -m dev.third_party [--check]``.

Cargo says what is linked, and the sources that it fetched bring the texts; the C sources of Aeron and zstd lie inside
the crates that compile them. ``--check`` needs neither cargo nor a network: it compares the lock file with the one that
the notices were made of.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
LOCK: Final = ROOT / "native" / "Cargo.lock"
NOTICES: Final = ROOT / "THIRD-PARTY-LICENSES.txt"
SHIPPED: Final = ("framegate-python", "framegate-media-driver")
"""The crates whose binaries are in the wheel."""
_MANIFEST: Final = ROOT / "native" / "Cargo.toml"
_TEXTS: Final = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)([-_.].*)?", re.IGNORECASE)
_SOURCES: Final = {".rs", ".c", ".h", ".py", ".toml"}
_INSIDE: Final[dict[str, tuple[str, ...]]] = {
    "rusteron-client": ("aeron",),
    "rusteron-media-driver": ("aeron",),
    "zstd-sys": ("zstd",),
}
"""Crates that compile a library of another project, and the folder in which it lies."""
_RULE: Final = "=" * 80
_MADE_OF: Final = "Made of native/Cargo.lock with the SHA-256 "
_HEAD: Final = """\
framegate is licensed under the Apache License 2.0. The extension module framegate._native and the program
framegate-media-driver contain the software below, each under its own licence. Beside it they contain the standard
library of Rust (MIT OR Apache-2.0, https://www.rust-lang.org).

Written by `python -m dev.third_party`. {made_of}
"""


def main(arguments: list[str]) -> int:
    """Write the notices, or with --check say whether they are those of the lock file."""
    if arguments == ["--check"]:
        if not is_fresh():
            print(f"{NOTICES.name} was made of another Cargo.lock: run python -m dev.third_party", file=sys.stderr)
            return 1
        return 0
    NOTICES.write_text(notices())
    return 0


def is_fresh() -> bool:
    """Whether the notices were made of this lock file."""
    return made_of(LOCK) in NOTICES.read_text()


def made_of(lock: Path) -> str:
    """What the notices say of the lock file that they were made of."""
    return _MADE_OF + hashlib.sha256(lock.read_bytes()).hexdigest()


def notices() -> str:
    """The list of packages, and every text once with those that bring it."""
    packages = linked()
    texts: dict[str, list[str]] = defaultdict(list)
    shown: dict[str, str] = {}
    parts = [_HEAD.format(made_of=made_of(LOCK))]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        inside = "".join(f", with {each} inside" for each in _INSIDE.get(package["name"], ()))
        parts.append(f"{name}{inside}: {package['license']}; {package['repository']}")
        for title, text in _texts(package):
            # Copies differ in their line breaks.
            key = " ".join(text.split())
            shown.setdefault(key, text)
            texts[key].append(f"{name}, {title}")
    for key, names in texts.items():
        parts.append("\n".join(["", _RULE, *names, _RULE, "", shown[key].strip()]))
    return "\n".join(parts) + "\n"


def linked() -> list[dict[str, Any]]:
    """The packages of other projects that are linked in, by name."""
    words = ["cargo", "tree", "--locked", "--offline", "--manifest-path", str(_MANIFEST), "--prefix", "none"]
    words += ["--edges", "normal,no-proc-macro", "--format", "{p}"]
    names = {
        tuple(line.split()[:2])
        for shipped in SHIPPED
        for line in _output([*words, "--package", shipped]).splitlines()
        if line
    }
    metadata = json.loads(
        _output(
            ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--manifest-path", str(_MANIFEST)]
        )
    )
    found = [each for each in metadata["packages"] if each["source"] and (each["name"], f"v{each['version']}") in names]
    return sorted(found, key=lambda each: (each["name"], each["version"]))


def _texts(package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a package's licence says, by the file that has it."""
    home = Path(package["manifest_path"]).parent
    found = False
    for folder in ("", *_INSIDE.get(package["name"], ())):
        for path in sorted((home / folder).iterdir()):
            if _TEXTS.fullmatch(path.name) and path.is_file() and path.suffix not in _SOURCES:
                found = found or not folder
                yield str(path.relative_to(home)), path.read_text(errors="replace")
    if not found:
        authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        said = f"Licensed under {package['license']}; the text stands with others in this file."
        yield "which brings no text", f"Copyright (c) {authors}. {said}"


def _output(words: list[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
