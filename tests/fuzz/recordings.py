# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.fuzz.recordings RUNS``: bytes into ``framegate inspect``, and into what ``replay`` makes of them.

Only lines and numbered errors may come out. Starts from whole recordings, messages, slots and regions. Anything else
stops with the input in a file that libFuzzer names; put it into a unit test when mending it. Words behind the count go
to libFuzzer: a folder there keeps what was reached, so that a million can be run in pieces.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=[
        "framegate.recording",
        "framegate.schema",
        "framegate.spec.pool",
        "framegate.tools.inspect",
        "mcap",
    ]
):
    from framegate.recording.frames import FrameOfRecording, Passage
    from framegate.recording.reader import Recording
    from framegate.schema.errors import FramegateError
    from framegate.tools.inspect.content import Content
    from framegate.tools.inspect.incomplete import why_incomplete
    from framegate.tools.inspect.printing import clean, line
    from framegate.tools.inspect.statistics import Statistics
    from framegate.tools.inspect.suggest import suggest
    from framegate.tools.inspect.tables import print_tables

from tests.unit.tools.inspect.seeds import SEEDS

FOREIGN = {"/camera/image": 7}


def look(data: bytes) -> None:
    """Everything that the command does with a file, without its process."""
    statistics = Statistics()
    content = Content(io.BytesIO(data), "fuzz")
    try:
        for seen in content:
            statistics.take(seen)
            assert "\n" not in line(seen)
            json.dumps(seen.as_object())
    except FramegateError as error:
        if not error.code:
            raise
    report = statistics.report()
    json.dumps(report)
    suggest(report)
    with contextlib.redirect_stdout(io.StringIO()):
        print_tables(report)
    if content.recording is not None:
        assert all("\n" not in clean(text) for text in why_incomplete(content.recording))
        put_together(data)


def put_together(data: bytes) -> None:
    """The frames that a replay would send: what is none is left out."""
    for item in Passage(Recording(io.BytesIO(data)), FOREIGN):
        if isinstance(item, FrameOfRecording):
            assert item.array.nbytes <= len(item.payload)


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
