# SPDX-License-Identifier: Apache-2.0
"""The benches of the Rust crates, which print one JSON object a line. They need a source tree and cargo."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framegate.schema.errors import FileMissing


def cargo_bench(package: str, bench: str) -> Iterator[dict[str, Any]]:
    """Every object that a crate's bench prints."""
    manifest = Path.cwd() / "native" / "Cargo.toml"
    if not manifest.is_file():
        raise FileMissing("the Rust benches run from the root of a source tree", path=manifest)
    command = [
        "cargo",
        "bench",
        "--quiet",
        "--locked",
        "--manifest-path",
        str(manifest),
        "-p",
        package,
        "--bench",
        bench,
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    yield from (json.loads(line) for line in printed.splitlines() if line.startswith("{"))
