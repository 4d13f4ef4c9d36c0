# SPDX-License-Identifier: Apache-2.0
"""The sent log: a CSV file with a line for each published frame, written once the frame is in its ring."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from framegate.schema.errors import FileMissing

HEADER: Final = "stream,epoch,seq,timestamp_ns"


class SentLog:
    """A file that takes one line for each published frame.

    Every line is given to the system at once. So the file has all that a killed producer has published, except perhaps
    the very last frame.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as refused:
            raise FileMissing(f"the log of sent frames cannot be written: {refused.strerror}", file=path) from refused
        self._write(HEADER)

    def note(self, stream: int, epoch: int, seq: int, timestamp_ns: int | None) -> None:
        """Write the line of one frame. A missing timestamp is an empty cell."""
        self._write(f"{stream},{epoch},{seq},{'' if timestamp_ns is None else timestamp_ns}")

    def _write(self, line: str) -> None:
        os.write(self._file, f"{line}\n".encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
