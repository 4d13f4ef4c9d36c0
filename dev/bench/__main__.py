# SPDX-License-Identifier: Apache-2.0
"""``python -m dev.bench [NAME ...] [--json] [--report DIR] [--compare OLD.json]``: run the measurements and print one
table; write a report with plots; say what got slower since an earlier one.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dev.bench.comparison import changes, show_changes
from dev.bench.report import read, write
from dev.bench.result import Result, show

QUICK: Final = (
    "peer_ages",
    "join",
    "join_ages",
    "in_program",
    "joins_by_hand",
    "open_loop",
    "spark_value",
    "spark_reference",
    "spark_join",
    "spark_latency",
    "spark_offsets",
    "spark_flight",
    "flight",
    "record",
    "replay",
)
"""Those that have a short run which only shows that they work."""
NAMES: Final = (
    "startup",
    "codecs",
    "records",
    "offers",
    "roundtrip",
    "slots",
    "publish",
    "copy",
    "read",
    "frames",
    "ages",
    "python",
    "barriers",
    "checkpoint",
    "join_checkpoints",
    "checkpoint_waits",
    "checkpoint_stall",
    "peers",
    "growth",
    "many_inputs",
    *QUICK,
)


def main(arguments: Sequence[str]) -> int:
    """Run the named ones, or all."""
    parser = argparse.ArgumentParser(prog="dev.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.json, and a page of plots")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="say what got slower than in that report")
    parser.add_argument("--quick", action="store_true", help=f"seconds instead of minutes; {', '.join(QUICK)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    if options.quick and not (options.names and set(options.names) <= set(QUICK)):
        parser.error(f"--quick is for: {', '.join(QUICK)}")
    before = read(options.compare) if options.compare else []
    results: list[Result] = []
    try:
        for name in options.names or NAMES:
            print(f"measuring: {name}", file=sys.stderr, flush=True)
            measure = importlib.import_module(f"dev.bench.{name}").run
            results += measure(quick=True) if options.quick else measure()
    finally:
        # What was measured before one of them failed took minutes, and is true.
        show(results, as_json=options.json)
        if options.report:
            write(options.report, results)
    if options.compare:
        show_changes(list(changes(before, results)), as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
