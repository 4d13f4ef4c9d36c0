# SPDX-License-Identifier: Apache-2.0
"""Where tests keep what must lie in shared memory."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_folder(kind: str) -> Iterator[Path]:
    """A new folder under /dev/shm, gone with everything in it at the end. ``kind`` tells whose it was if it is not."""
    folder = Path(tempfile.mkdtemp(prefix=f"framegate-{kind}-", dir="/dev/shm"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
