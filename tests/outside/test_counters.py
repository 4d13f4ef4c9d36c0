# SPDX-License-Identifier: Apache-2.0
"""Every count that somebody is shown stands in docs/counters.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.outside.bed import Bed, Object

EXPLAINED = set(re.findall(r"`(\w+)`", (Path(__file__).parents[2] / "docs/counters.md").read_text()))
NO_COUNTS = {"event", "stream", "streams", "file", "checkpoints", "journal"}
READER = """
import json, sys
import framegate as fg

with fg.connect() as client:
    consumer = client.consumer(int(sys.argv[1]))
    print('{"event": "ready"}', flush=True)
    frames = sum(1 for _ in consumer)
    print(json.dumps({"event": "summary", **consumer.counters()}), flush=True)
"""


def names(shown: Object) -> Iterator[str]:
    """The names of counts, also of those that stand together; what is counted by input has its name once."""
    for name, value in shown.items():
        if name.startswith("drop_"):
            continue
        yield name
        if isinstance(value, dict) and name in ("checkpoints", "journal"):
            yield from names(value)


def test_what_is_counted_is_explained(own_bed: Bed) -> None:
    bed = own_bed
    driver = bed.driver()
    left, right = bed.streams()
    join = bed.join(bed.lockstep("counted", [left, right]))
    words = ("--streams", f"{left},{right}", "--json")
    recorder = bed.run("record", bed.folder / "counted.mcap", *words, is_ready=True)
    reader = bed.python(READER, left)
    reader.says(event="ready")
    producer = bed.rate(left, 500, 50, consumers=3)
    bed.rate(right, 500, 50, consumers=2)
    shown = [each.summary() for each in (producer, join, recorder, reader)]
    shown.append(driver.interrupted())
    unexplained = {name for each in shown for name in names(each)} - EXPLAINED - NO_COUNTS
    assert not unexplained
