# SPDX-License-Identifier: Apache-2.0
"""The other side of ``in_program``: a program that joins by itself. Its words: a join.toml, and two directories."""

from __future__ import annotations

import sys

from framegate.schema.console.reporting import emit
from framegate.shmpool.stop_signal import StopSignal

import framegate as fg


def main(config: str, aeron_dir: str, base_dir: str) -> int:
    """Join until told to end; the program reads no rows, as little as an agent does."""
    with StopSignal() as stop, fg.local(aeron_dir, base_dir) as gate, gate.join(config):
        stop.listen()
        emit({"event": "ready"})
        while not stop.wait(1.0):
            continue
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
