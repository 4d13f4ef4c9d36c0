# SPDX-License-Identifier: Apache-2.0
"""What the demo says of itself: how far it is, and the end in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framegate.schema.console.terminal import print_table
from framegate.tools.demo.verdict import Verdict

import framegate as fg


def so_far(joined: fg.Joined, verdict: Verdict, seconds: float) -> dict[str, Any]:
    """What programs are told once a second."""
    rows = len(joined)
    return {
        "event": "progress",
        "seconds": round(seconds, 1),
        "rows": rows,
        "rows_per_s": round(rows / seconds, 1),
        "not_joined": {name: sum(causes.values()) for name, causes in joined.unmatched().items()},
        "computed": verdict.rows,
        "lag_ms": verdict.recent_lag_ms(),
        "moved": verdict.moved,
    }


def print_summary(summary: Mapping[str, Any]) -> None:
    """The end of a run, for people; programs get the same as an object."""
    cameras, motion = summary["cameras"], summary["motion"]
    rows, found = summary["rows"], motion["recovered_sets"]
    whose, first, late = "Spark" if summary["spark"] else "Python", cameras[0]["name"], cameras[-1]["name"]
    rate = f"{summary['rows_per_s']:g} rows/s, {summary['gb_per_s']:.2f} GB/s"
    fetched = "{rows} rows, {bytes} bytes to the cluster's executors in {streams} streams"
    lines = {
        "joined": f"{rows} sets of {len(cameras)} frames: {rate}",
        "lag": f"from the newest frame's capture to its row: {_lag(summary['join_lag_ms'])}",
        " ": f"and to {whose}'s result for it: {_lag(summary['result_lag_ms'])}",
        "motion": f"{motion['rows']} rows and {motion['columns']} columns a frame, recovered in {found} of {rows} sets",
        "  ": f"{late} shows everything {summary['lag_frames']} frames late; as joined it differs from {first}",
        "   ": f"by {summary['mean_difference']:.1f} of 255 on average, which is their noise",
        "audit": f"{summary['frames']} frames, {summary['unexplained']} unexplained",
        **({"flight": fetched.format(**summary["flight"])} if "flight" in summary else {}),
    }
    print("", *(f"{name:<10} {text}" for name, text in lines.items()), "", sep="\n")
    cells = [(each["name"], str(each["frames"]), str(each["joined"]), _causes(each["not_joined"])) for each in cameras]
    print_table(("camera", "frames", "joined", "not joined, and why"), cells)
    print("", *(f"{name:<10} {place}" for name, place in summary["files"].items()), sep="\n")


def _lag(lag: Mapping[str, float]) -> str:
    return f"p50 {lag['p50']:.2f} ms, p99 {lag['p99']:.2f} ms"


def _causes(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in counted.items()) or "none"
