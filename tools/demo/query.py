# SPDX-License-Identifier: Apache-2.0
"""The query over the live journal, as a process of its own: in Spark, or over ``framegate.journal`` in Python.

It says ``ready`` when it waits for rows, and what it found in them in groups; it ends when the journal's writer has
ended in good order and every row was looked at, or when it is told to.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from framegate.schema.console import logs
from framegate.schema.console.reporting import emit, numbered_error, report
from framegate.schema.errors import DONE
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.commands.produce import parse_shape
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.looking import Finding, Look

READER = "demo"
"""The name under which the query holds the journal's rows until it has looked at them."""


@dataclass(slots=True)
class Teller:
    """Says what was found, a group of rows a line."""

    findings: list[tuple[Finding, int]] = field(default_factory=list)
    rows: int = 0

    def add(self, finding: Finding, done_ns: int) -> None:
        """Keep a finding, which was there at ``done_ns``."""
        self.findings.append((finding, done_ns))

    def tell(self) -> None:
        """Say what was kept."""
        if not self.findings:
            return
        self.rows += len(self.findings)
        emit({"event": "found", "rows": [[*finding, done_ns] for finding, done_ns in self.findings]})
        self.findings.clear()


def main(arguments: Sequence[str]) -> int:
    """Run the query; the exit code."""
    parser = argparse.ArgumentParser(prog="framegate.tools.demo.query")
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--cameras", required=True)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--spark-home", type=Path, help="Where Spark may write; without it there is no Spark.")
    parser.add_argument("--endpoint", help="The journal's server: Spark is a cluster, and reads from there.")
    options = parser.parse_args(arguments)
    rows, columns = parse_shape(options.shape)
    look = Look(tuple(options.cameras.split(",")), (rows, columns))
    logs.set_up({})
    teller = Teller()
    try:
        with StopSignal() as stop:
            stop.listen()
            if options.spark_home is None:
                from framegate.tools.demo.query_plain import run as run_plain

                run_plain(options.journal, look, teller, stop)
            else:
                from framegate.tools.demo.query_spark import run

                run(options.journal, look, teller, stop, options.spark_home, options.endpoint)
    except Exception as failure:
        error = numbered_error(failure)
        report(error, as_json=True)
        if not error.code or error.code == 999:
            raise
        return error.exit_code
    emit({"event": "summary", "rows": teller.rows, "at_ns": monotonic_ns()})
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
