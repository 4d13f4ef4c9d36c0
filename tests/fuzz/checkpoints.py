# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fuzz.checkpoints RUNS``: bytes into what reads a checkpoint's files, and into its state machines.

Anything but values and numbered errors, and any two answers of the two implementations, stops with the input in a file
that libFuzzer names; put it into a unit test when mending it.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["framegate.joinbarrier.checkpoint"]):
    from tests.fuzz.checkpoint_inputs import SEEDS, look


def main(arguments: Sequence[str]) -> int:
    """Fuzz so many inputs; further words go to libFuzzer."""
    runs = int(arguments[0]) if arguments else 1_000_000
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as corpus:
        for index, seed in enumerate(SEEDS):
            Path(corpus, str(index)).write_bytes(seed)
        words = [sys.argv[0], f"-runs={runs}", "-max_len=2048", "-timeout=10", *arguments[1:], corpus]
        atheris.Setup(words, look)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
