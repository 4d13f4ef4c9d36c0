# SPDX-License-Identifier: Apache-2.0
"""What does a 2-rule MergeMap cost to encode and to decode, in Rust and in Python?

The Rust half is the crate's own bench; it needs a source tree and cargo.
"""

from __future__ import annotations

import json
import subprocess
import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framegate.schema import merge
from framegate.schema.errors import FileMissing
from framegate.tools.bench.result import Result, rounds

_CALLS: Final = 20_000
_ROUNDS: Final = 9


def run() -> Iterator[Result]:
    """Both directions in both languages."""
    yield from _python()
    yield from _rust()


def _python() -> Iterator[Result]:
    offset = merge.SequenceMergeMapAnnounce.Rule(
        input_stream_id=10_000, rule_type=merge.MergeRuleType.OFFSET, offset=-2
    )
    window = merge.SequenceMergeMapAnnounce.Rule(
        input_stream_id=10_001, rule_type=merge.MergeRuleType.WINDOW, window_size=5
    )
    announce = merge.SequenceMergeMapAnnounce(out_stream_id=11_000, epoch=9, rules=(offset, window))
    data = announce.encode()
    for name, call in (("encode", announce.encode), ("decode", lambda: merge.SequenceMergeMapAnnounce.decode(data))):
        cost, spread = rounds(lambda call=call: timeit.timeit(call, number=_CALLS) / _CALLS * 1e6, _ROUNDS)  # type: ignore[misc]
        yield Result(question=f"Python: {name} a 2-rule MergeMap", measured=cost, unit="us", target=15, spread=spread)


def _rust() -> Iterator[Result]:
    manifest = Path.cwd() / "native" / "Cargo.toml"
    if not manifest.is_file():
        raise FileMissing("the Rust bench runs from the root of a source tree", path=manifest)
    command = ["cargo", "bench", "--quiet", "--locked", "--manifest-path", str(manifest), "-p", "framegate-codecs"]
    printed = subprocess.run([*command, "--bench", "merge_map"], capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            question = f"Rust: {found['name']}"
            yield Result(question=question, measured=found["median_ns"], unit="ns", target=10, how=found.get("how", ""))
