# SPDX-License-Identifier: Apache-2.0
"""What does a 2-rule MergeMap cost to encode and to decode, in Rust and in Python?

The Rust half is the crate's own bench.
"""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from typing import Final

from framegate.schema import merge

from dev.bench.cargo import cargo_bench
from dev.bench.result import Result, rounds

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
    for found in cargo_bench("framegate-codecs", "merge_map"):
        is_floor = found["what"].startswith("floor")
        what = "copy its 58 bytes (the floor)" if is_floor else f"{found['what']} a 2-rule MergeMap"
        yield Result(
            question=f"Rust: {what}",
            measured=found["median"],
            unit=found["unit"],
            target=None if is_floor else 10,
            spread=(found["best"], found["worst"]),
            how=f"{found['rounds']} rounds of {found['calls']}",
        )
