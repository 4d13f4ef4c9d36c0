# SPDX-License-Identifier: Apache-2.0
"""The end of the demo in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from framegate.schema.console.terminal import print_table


def print_summary(summary: Mapping[str, Any]) -> None:
    """For people; programs get the same as an object."""
    cameras, motion = summary["cameras"], summary["motion"]
    print()
    print(
        f"joined     {summary['rows']} sets of {len(cameras)} frames: {summary['rows_per_s']:g} rows/s, "
        f"{summary['gb_per_s']:.2f} GB/s"
    )
    print(f"lag        from the newest frame's capture to its row: {_lag(summary['join_lag_ms'])}")
    where = "Spark's" if summary["spark"] else "Python's"
    print(f"           and to {where} result for it:             {_lag(summary['result_lag_ms'])}")
    print(
        f"motion     {motion['rows']} rows and {motion['columns']} columns a frame, recovered in all cameras of "
        f"{motion['recovered_sets']} of {summary['rows']} sets"
    )
    print(
        f"           {cameras[-1]['name']} shows everything {summary['lag_frames']} frames late; as joined it differs "
        f"from {cameras[0]['name']} by {summary['mean_difference']:.1f} of 255 on average, which is their noise"
    )
    if "flight" in summary:
        flight = summary["flight"]
        print(
            f"flight     {flight['rows']} rows, {flight['bytes']} bytes to the cluster's executors "
            f"in {flight['streams']} streams"
        )
    print()
    rows = [(each["name"], str(each["frames"]), str(each["joined"]), _causes(each["not_joined"])) for each in cameras]
    print_table(("camera", "frames", "joined", "not joined, and why"), rows)
    print()
    for name, place in summary["files"].items():
        print(f"{name:<10} {place}")


def _lag(lag: Mapping[str, float]) -> str:
    return f"p50 {lag['p50']:.2f} ms, p99 {lag['p99']:.2f} ms"


def _causes(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {cause}" for cause, count in counted.items()) or "none"
