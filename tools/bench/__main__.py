# SPDX-License-Identifier: Apache-2.0
"""``python -m framegate.tools.bench [NAME ...] [--json]``: run the measurements and print one table."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Final

from framegate.tools.bench.result import Result, show

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
    "python",
    "peers",
)


def main(arguments: Sequence[str]) -> int:
    """Run the named ones, or all."""
    parser = argparse.ArgumentParser(prog="framegate.tools.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    results: list[Result] = []
    for name in options.names or NAMES:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        results += importlib.import_module(f"framegate.tools.bench.{name}").run()
    show(results, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
