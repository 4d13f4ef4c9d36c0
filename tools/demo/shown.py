# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: a line that changes on a terminal, a line a second anywhere else, and the end in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.shmpool.clock import monotonic_ns
from framegate.tools.demo.verdict import Verdict

import framegate as fg

_PERIOD_NS: Final = 1_000_000_000


class Progress:
    """Tells once a second how far a run is."""

    def __init__(self, show: Callable[[dict[str, Any]], None]) -> None:
        self._show = show
        self._began_ns = self._told_ns = monotonic_ns()
        self._rows = 0

    def tell(self, joined: fg.Joined, verdict: Verdict, *, is_last: bool = False) -> bool:
        """Tell it if it is time, and at the end; whether it was time."""
        now_ns = monotonic_ns()
        if now_ns - self._told_ns < _PERIOD_NS and not is_last:
            return False
        rows, not_joined = len(joined), joined.unmatched()
        now = {
            "event": "progress",
            "seconds": round((now_ns - self._began_ns) / 1e9, 1),
            "rows": rows,
            "rows_per_s": round((rows - self._rows) * 1e9 / (now_ns - self._told_ns), 1),
            "not_joined": {name: sum(causes.values()) for name, causes in not_joined.items()},
            "computed": verdict.rows,
            "lag_ms": verdict.recent_lag_ms(),
            "moved": verdict.moved,
        }
        self._rows, self._told_ns = rows, now_ns
        self._show(now)
        return True


@contextmanager
def progress(*, as_json: bool) -> Iterator[Progress]:
    """The right one for whoever looks on."""
    if as_json:
        yield Progress(emit)
    elif sys.stdout.isatty():
        from rich.live import Live

        with Live(auto_refresh=False) as live:
            yield Progress(lambda now: live.update(line(now), refresh=True))
    else:
        yield Progress(lambda now: print(line(now), flush=True))


def line(now: Mapping[str, Any]) -> str:
    """How far it is, in words."""
    lag = "no result yet" if now["lag_ms"] is None else f"{now['lag_ms']:.1f} ms after capture"
    joined = f"joined {now['rows']} ({now['rows_per_s']:.0f}/s)  not joined {sum(now['not_joined'].values())}"
    return f"{now['seconds']:5.1f} s  {joined}  computed {now['computed']}, {lag}"


def print_summary(summary: Mapping[str, Any]) -> None:
    """The end of a run, for people; programs get the same as an object."""
    cameras, motion = summary["cameras"], summary["motion"]
    rows, found = summary["rows"], motion["recovered_sets"]
    whose, first, late = "Spark" if summary["spark"] else "Python", cameras[0]["name"], cameras[-1]["name"]
    rate = f"{summary['rows_per_s']:g} rows/s, {summary['gb_per_s']:.2f} GB/s"
    print(f"\njoined     {rows} sets of {len(cameras)} frames: {rate}")
    print(f"lag        from the newest frame's capture to its row: {_lag(summary['join_lag_ms'])}")
    print(f"           and to {whose}'s result for it: {_lag(summary['result_lag_ms'])}")
    print(
        f"motion     {motion['rows']} rows and {motion['columns']} columns a frame, recovered in {found} of {rows} sets"
    )
    print(f"           {late} shows everything {summary['lag_frames']} frames late; as joined it differs from {first}")
    print(f"           by {summary['mean_difference']:.1f} of 255 on average, which is their noise")
    print(f"audit      {summary['frames']} frames, {summary['unexplained']} unexplained")
    if "flight" in summary:
        fetched = "{rows} rows, {bytes} bytes to the cluster's executors in {streams} streams"
        print("flight     " + fetched.format(**summary["flight"]))
    print()
    lines = [(each["name"], str(each["frames"]), str(each["joined"]), _causes(each["not_joined"])) for each in cameras]
    print_table(("camera", "frames", "joined", "not joined, and why"), lines)
    print()
    for name, place in summary["files"].items():
        print(f"{name:<10} {place}")


def _lag(lag: Mapping[str, float]) -> str:
    return f"p50 {lag['p50']:.2f} ms, p99 {lag['p99']:.2f} ms"


def _causes(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in counted.items()) or "none"
