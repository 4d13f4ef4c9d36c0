# SPDX-License-Identifier: Apache-2.0
"""``framegate journal serve`` as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

END_S: Final = 30


class ServerProcess:
    """Started when it is made; ``says`` has its ready line."""

    def __init__(self, *folders: Path, listen: str = "grpc://127.0.0.1:0", words: tuple[str, ...] = (), **env: str):
        command = [sys.executable, "-m", "framegate", "journal", "serve", *map(str, folders), "--listen", listen]
        self.process = subprocess.Popen(
            [*command, "--json", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )
        assert self.process.stdout is not None
        self.says: dict[str, Any] = json.loads(self.process.stdout.readline())

    @property
    def endpoint(self) -> str:
        return str(self.says["endpoint"])

    def anonymous_bytes(self) -> int:
        """Memory that is its own: neither files nor what it shares by them."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (found,) = (line.split()[1] for line in lines if line.startswith("RssAnon:"))
        return int(found) << 10

    def end(self) -> dict[str, Any]:
        """Tell it to end; its summary."""
        self.process.terminate()
        out, _ = self.process.communicate(timeout=END_S)
        assert self.process.returncode == 0
        found: dict[str, Any] = json.loads(out.splitlines()[-1])
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=END_S)


@contextmanager
def serving(*folders: Path, **options: Any) -> Iterator[ServerProcess]:
    made = ServerProcess(*folders, **options)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()
