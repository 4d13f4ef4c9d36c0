# SPDX-License-Identifier: Apache-2.0
"""The mark of a recording, by which a replay recognizes it: a place in one file has no meaning in another."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

_HEAD_BYTES: Final = 1 << 16
_DIGEST_BYTES: Final = 8


def source_mark(source: Path) -> str:
    """The mark: a digest of the beginning, with the times of the first messages; for a folder of dumps, names and
    sizes.

    Empty for a source that cannot be read twice.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    if source.is_dir():
        files = sorted(path for path in source.rglob("*") if path.is_file())
        for path in files:
            digest.update(f"{path.relative_to(source)}={path.stat().st_size};".encode())
        return f"{len(files)} files {digest.hexdigest()}"
    if not source.is_file():
        return ""
    with source.open("rb") as file:
        digest.update(file.read(_HEAD_BYTES))
    return digest.hexdigest()
