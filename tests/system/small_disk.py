# SPDX-License-Identifier: Apache-2.0
"""A file system that a test can fill."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted() -> Iterator[Path]:
    """A folder with 12 MiB of its own; skips where mounting is not allowed."""
    place = Path(tempfile.mkdtemp(prefix="framegate-disk-", dir="/dev/shm"))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", place], check=False).returncode:
        place.rmdir()
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", place], check=True)
    place.rmdir()


def fill(ballast: Path) -> None:
    """Write until something stops it."""
    with ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(64 << 10))
