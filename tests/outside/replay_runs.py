# SPDX-License-Identifier: Apache-2.0
"""Recordings that are replayed at their own speed, replayed at full speed, and joined without a driver: the same rows?

    python -m tests.outside.replay_runs [COUNT] [SEED]

makes a recording with jitter for each of the seeds SEED, SEED + 1, ..., joins it in these three ways by sequence or by
time, in turns, and compares the journals by ``framegate journal diff``. At the end one recording each is replayed into
a ``latest`` and a ``union``, whose rows are chance: there the audit must explain every frame, no row may come twice.
A line for ten runs, and a summary at the end; exit code 1 where something differed. One driver serves all of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.outside.bed import Bed, Process
from tests.outside.recordings import MS, jittered, write_recording
from tests.outside.rows import read_rows

FRAMES = 150
"""Of each of two streams."""
PERIOD_NS = 10 * MS
TOLERANCE_NS = 30 * MS
STREAMS = {"/left": 10_001, "/right": 10_002}
MAP = tuple(word for topic, stream in STREAMS.items() for word in ("--map", f"{topic}={stream}"))
LINE = 10
ENDS_WITHIN_S = 300.0


class Differs(Exception):
    """What two journals do not have in common, or what an audit could not explain."""


def recording_of(bed: Bed, seed: int) -> Path:
    topics = {topic: jittered(FRAMES, PERIOD_NS, seed * 2 + side) for side, topic in enumerate(STREAMS)}
    return write_recording(bed.folder / f"runs-{seed}.mcap", topics)


def config_of(bed: Bed, name: str, policy: str) -> Path:
    left, right = STREAMS.values()
    inputs: dict[str, dict[str, object]] = {"left": {"stream": left}, "right": {"stream": right}}
    more: dict[str, Any] = {}
    if policy == "timestamp":
        inputs["right"] |= {"tolerance_ns": TOLERANCE_NS}
        more = {"join": {"drive": "input:left"}, "mergemap": {"clock_domain": "realtime_synced"}}
    if policy == "latest":
        more = {"join": {"drive": "input:left"}}
    return bed.config(name, policy, inputs, out=20_001, **more)


def replayed(bed: Bed, name: str, policy: str, file: Path, *words: object) -> Path:
    """The journal of a live join of a replay."""
    join = bed.join(config_of(bed, name, policy))
    replay = bed.run("replay", file, *MAP, "--wait-consumers", 1, "--end", "--json", *words)
    sent = replay.summary(ENDS_WITHIN_S)
    if sent["frames"] != len(STREAMS) * FRAMES:
        raise Differs(f"{sent['frames']} frames were sent: {sent['left_out']}")
    join.summary(ENDS_WITHIN_S)
    return bed.journal(name)


def compare(bed: Bed, policy: str, seed: int) -> None:
    """Raise ``Differs`` where the three ways do not give the same rows."""
    file = recording_of(bed, seed)
    offline = bed.run("join", "--config", config_of(bed, "offline", policy), "--from", file, *MAP, "--json")
    rows = offline.summary(ENDS_WITHIN_S)["rows"]
    live = [replayed(bed, "live", policy, file), replayed(bed, "full", policy, file, "--speed", "max")]
    for journal in live:
        told = bed.run("journal", "diff", bed.journal("offline"), journal, "--json")
        if told.ended(ENDS_WITHIN_S) != 0 or rows == 0:
            raise Differs(f"{journal.name} is not as offline, of {rows} rows: {told.text[-2000:]}")


def account(bed: Bed, policy: str, seed: int) -> None:
    """Raise ``Differs`` where a frame has no fate, or a row comes twice."""
    file = recording_of(bed, seed)
    journal = replayed(bed, policy, policy, file)
    found = Counter(json.dumps([row["left"], row["right"]], default=str) for row in read_rows(journal))
    twice = [key for key, count in found.items() if count > 1]
    if twice or not found:
        raise Differs(f"{policy}: of {len(found)} rows {len(twice)} came twice: {twice[:1]}")
    told = bed.run("audit", journal, "--json")
    told.ended(ENDS_WITHIN_S)
    audited = told.says(event="summary")
    fates = [each["joined"] + sum(each["unmatched"].values()) + each["pending"] for each in audited["inputs"].values()]
    if audited["unexplained"] or fates != [FRAMES] * len(STREAMS):
        raise Differs(f"{policy}: of {FRAMES} frames each {fates} have a fate: {told.text[-2000:]}")


def run(bed: Bed, count: int, seed: int) -> list[str]:
    """What differed; one driver serves every run."""
    driver: Process = bed.driver()
    found: list[str] = []
    mark = bed.started
    kinds = [("sequence", "timestamp")[number % 2] for number in range(count)] + ["latest", "union"]
    for number, policy in enumerate(kinds):
        try:
            (compare if number < count else account)(bed, policy, seed + number)
        except (Differs, AssertionError) as failure:
            found.append(f"seed {seed + number}, {policy}: {failure}")
            print(found[-1], flush=True)
        bed.end_from(mark)
        for path in [bed.folder / f"runs-{seed + number}.mcap", *map(bed.journal, ("offline", "live", "full"))]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if driver.has_ended:
            raise AssertionError(f"the driver ended: {driver}")
        if (number + 1) % LINE == 0:
            print(f"{number + 1} runs, {len(found)} differed", flush=True)
    return found


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("count", nargs="?", type=int, default=100)
    words.add_argument("seed", nargs="?", type=int, default=1)
    asked = words.parse_args()
    with Bed() as bed:
        found = run(bed, asked.count, asked.seed)
    print(f"{asked.count} recordings in three ways, and a latest and a union: {len(found)} differed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
