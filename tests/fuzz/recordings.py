# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fuzz.recordings RUNS``: bytes into ``framegate inspect``.

Only lines and numbered errors may come out. Starts from whole recordings, messages, slots and regions. Anything else
stops with the input in a file that libFuzzer names; put it into a unit test when mending it.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["framegate.recording", "framegate.schema", "framegate.tools.inspect"]):
    from framegate.schema.errors import FramegateError
    from framegate.tools.inspect.content import Content
    from framegate.tools.inspect.printing import line
    from framegate.tools.inspect.statistics import Statistics
    from framegate.tools.inspect.suggest import suggest

from tests.unit.tools.inspect.seeds import SEEDS


def look(data: bytes) -> None:
    """Everything that the command does with a file, without its process."""
    statistics = Statistics()
    try:
        for seen in Content(io.BytesIO(data), "fuzz"):
            statistics.take(seen)
            assert "\n" not in line(seen)
    except FramegateError as error:
        if not error.code:
            raise
    suggest(statistics.report())


def main(arguments: Sequence[str]) -> int:
    """Fuzz so many inputs; further words go to libFuzzer."""
    runs = int(arguments[0]) if arguments else 1_000_000
    with tempfile.TemporaryDirectory() as corpus:
        for index, seed in enumerate(SEEDS):
            Path(corpus, str(index)).write_bytes(seed)
        words = [sys.argv[0], f"-runs={runs}", "-max_len=8192", "-timeout=10", *arguments[1:], corpus]
        atheris.Setup(words, look)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
