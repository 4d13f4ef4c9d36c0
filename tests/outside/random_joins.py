# SPDX-License-Identifier: Apache-2.0
"""Random joins from outside, each of which must end with every frame explained.

    python -m tests.outside.random_joins [COUNT] [SEED] [--at-once N]

runs the joins of the seeds SEED, SEED + 1, ..., up to 16 at once; 64 of them share a driver. A seed decides policy,
rules, rates, counts and payloads, who starts when, who is killed or stands still, who ends and who only leaves, and
whether the join is run again in its folder. One line a join; what was unexplained is kept, and the seed replays it:

    python -m tests.outside.random_joins 1 4711
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.outside.bed import Bed, Process

AT_ONCE = 16
BY_ONE_DRIVER = 64
FRAMES_MAX = 6_000
ENDS_BY_ITSELF_S = 12.0
"""So long a join whose inputs have all ended is waited for, before it is told to end."""
GIVEN_UP_S = 240.0


@dataclass(frozen=True)
class Source:
    """One input and the life of its producers."""

    rule: dict[str, Any]
    rate: float
    count: int
    shape: int
    delay_s: float
    waits: bool
    """Whether it begins when the join is there."""
    ends: bool
    lives: int
    killed_at: float | None
    """In which part of its first life it is killed."""
    paused_s: float


@dataclass(frozen=True)
class Plan:
    """One join, made of its seed alone."""

    seed: int
    policy: str
    join: dict[str, Any]
    mergemap: dict[str, Any]
    sources: list[Source]
    join_delay_s: float
    join_killed_after_s: list[float] = field(default_factory=list)
    join_paused_s: float = 0.0
    runs: int = 1


def planned(seed: int) -> Plan:
    """The plan of a seed."""
    dice = random.Random(seed)
    policy = dice.choice(["sequence", "sequence", "timestamp", "latest", "union"])
    sources = [_source(dice, policy, number) for number in range(dice.choice([2, 2, 2, 3]))]
    join: dict[str, Any] = {}
    if policy == "latest" or (policy == "sequence" and dice.random() < 0.2):
        join["drive"] = "input:s0"
    mergemap: dict[str, Any] = {"serve": True}
    stale_timeout_ms = dice.choice([200, 1000])
    if dice.random() < 0.2 and policy != "union":
        mergemap["stale_timeout_ms"] = stale_timeout_ms
    return Plan(
        seed=seed,
        policy=policy,
        join=join,
        mergemap=mergemap,
        sources=sources,
        join_delay_s=dice.choice([0.0, 0.0, dice.uniform(0, 2)]),
        join_killed_after_s=[dice.uniform(0.2, 2.5) for _ in range(dice.choice([0, 0, 0, 1, 2]))],
        join_paused_s=dice.choice([0.0, 0.0, 0.0, dice.uniform(0.1, 1.5)]),
        runs=dice.choice([1, 1, 1, 2]),
    )


def _source(dice: random.Random, policy: str, number: int) -> Source:
    rate = 10 ** dice.uniform(0, 4.3)
    count = max(2, min(int(rate * dice.uniform(0.3, 2.5)), FRAMES_MAX))
    return Source(
        rule=_rule(dice, policy, number),
        rate=round(rate, 1),
        count=count,
        shape=int(10 ** dice.uniform(1, 4.3)),
        delay_s=dice.choice([0.0, 0.3, dice.uniform(0, 2)]),
        waits=dice.random() < 0.8,
        ends=dice.random() < 0.8,
        lives=dice.choice([1, 1, 1, 2]),
        killed_at=dice.choice([None, None, None, dice.random()]),
        paused_s=dice.choice([0.0, 0.0, 0.0, dice.uniform(0.1, 1.5)]),
    )


def _rule(dice: random.Random, policy: str, number: int) -> dict[str, Any]:
    if policy == "sequence":
        offset = {"offset": 0 if number == 0 else dice.choice([0, 0, -2, 3])}
        return dice.choice([offset, offset, {"window": dice.randint(1, 6)}]) if number else offset
    if policy == "timestamp":
        if number == 0:
            return {"offset_ns": 0}
        nearest = {"offset_ns": 0, "tolerance_ns": dice.choice([2, 20]) * 1_000_000, "pick": "nearest"}
        return dice.choice([{"offset_ns": 0}, {"window_ns": 50_000_000}, nearest, {**nearest, "reuse": False}])
    return {}


class Run:
    """A plan that is carried out in a bed."""

    def __init__(self, bed: Bed, plan: Plan, streams: list[int], out: int) -> None:
        self.bed, self.plan, self.streams = bed, plan, streams
        self.name = f"join-{plan.seed}"
        inputs = {
            f"s{number}": {"stream": stream, **source.rule}
            for number, (stream, source) in enumerate(zip(streams, plan.sources, strict=True))
        }
        config = {"join": plan.join, "mergemap": plan.mergemap}
        self.config = bed.config(self.name, plan.policy, inputs, out=out, **config)
        self._join: Process | None = None
        self._until = time.monotonic() + GIVEN_UP_S

    def carry_out(self) -> dict[str, Any]:
        """Run it as often as it says, and audit it."""
        for number in range(self.plan.runs):
            self._once(is_first=number == 0)
        if not (self.bed.journal(self.name) / "journal.json").exists():
            # Every stream has to be there before a join makes its journal, and one of them was gone by then.
            return {"unexplained": 0, "inputs": {}, "lines": []}
        sent = [word for path in self.bed.sent(*self.streams) for word in ("--sent", path)]
        auditor = self.bed.run("audit", self.bed.journal(self.name), *sent, "--json")
        code = auditor.ended()
        books = auditor.objects()[-1]
        assert code in {0, 1}, auditor
        assert books.get("event") == "summary", auditor
        return {**books, "lines": [each for each in auditor.objects() if each.get("event") == "unexplained"]}

    def _once(self, *, is_first: bool) -> None:
        threads = [
            threading.Thread(target=self._play, args=(stream, source, is_first))
            for stream, source in zip(self.streams, self.plan.sources, strict=True)
        ]
        for thread in threads:
            thread.start()
        time.sleep(self.plan.join_delay_s)
        self._join = self._started()
        for after_s in self.plan.join_killed_after_s if is_first else []:
            time.sleep(after_s)
            # Meanwhile there is none, rather than one that has ended: producers go on waiting for the next.
            killed, self._join = self._join, None
            killed.kill()
            self._join = self._started()
        if self.plan.join_paused_s and is_first:
            self._join.stop()
            time.sleep(self.plan.join_paused_s)
            self._join.go_on()
        for thread in threads:
            thread.join(max(1.0, self._until - time.monotonic()))
            assert not thread.is_alive(), "a producer does not end"
        self._finish(self._join)

    def _started(self) -> Process:
        return self.bed.join(self.config, is_ready=False)

    def _finish(self, join: Process) -> None:
        deadline = time.monotonic() + (ENDS_BY_ITSELF_S if all(each.ends for each in self.plan.sources) else 1.5)
        while not join.has_ended and time.monotonic() < deadline:
            time.sleep(0.05)
        if not join.has_ended and not any(each.get("event") == "ready" for each in join.objects()):
            # It waits for a stream that is not there any more.
            join.kill()
            return
        join.send(signal.SIGINT)
        code = join.ended()
        # 1 is an answer, as of an input that was rejected; a configuration that is refused, or a defect, is not.
        assert code in {0, 1}, join
        assert "INTERNAL" not in join.text, join

    def _play(self, stream: int, source: Source, is_first: bool) -> None:
        time.sleep(source.delay_s)
        for life in range(source.lives if is_first else 1):
            producer = self._producer(stream, source)
            is_whole = life > 0 or not is_first
            if not is_whole and source.paused_s:
                self._after(producer, source.count // 3, producer.stop, stream)
                time.sleep(source.paused_s)
                producer.go_on()
            if not is_whole and source.killed_at is not None:
                self._after(producer, int(source.count * source.killed_at), producer.kill, stream)
            while not producer.has_ended and time.monotonic() < self._until:
                if source.waits and self._join is not None and self._join.has_ended:
                    # Nobody comes whom it could wait for.
                    producer.close()
                time.sleep(0.02)
            producer.close()

    def _producer(self, stream: int, source: Source) -> Process:
        words = ("--rate", source.rate, "--count", source.count, "--shape", source.shape)
        return self.bed.produce(stream, *words, consumers=int(source.waits), end=source.ends)

    def _after(self, producer: Process, frames: int, act: Callable[[], None], stream: int) -> None:
        there = self.bed.sent_frames(stream)
        while not producer.has_ended and time.monotonic() < self._until and not (self._join and self._join.has_ended):
            if self.bed.sent_frames(stream) >= there + frames:
                act()
                return
            time.sleep(0.02)


def carried_out(bed: Bed, plan: Plan, streams: list[int], out: int) -> dict[str, Any]:
    """What came of a plan: a line."""
    began = time.monotonic()
    line: dict[str, Any] = {"seed": plan.seed, "policy": plan.policy}
    run = Run(bed, plan, streams, out)
    try:
        books = run.carry_out()
        line["unexplained"] = books["unexplained"]
        line["joined"] = {name: each["joined"] for name, each in books["inputs"].items()}
        line["published"] = {name: each["published"] for name, each in books["inputs"].items()}
        line["findings"] = books["lines"][:5]
    except Exception as broken:
        line["failed"] = f"{type(broken).__name__}: {broken}"[:2000]
    line["seconds"] = round(time.monotonic() - began, 1)
    if line.get("unexplained") or "failed" in line:
        line["kept"] = str(_keep(bed, run))
    shutil.rmtree(bed.journal(run.name), ignore_errors=True)
    return line


def _keep(bed: Bed, run: Run) -> Path:
    kept = Path(tempfile.mkdtemp(prefix=f"framegate-join-{run.plan.seed}-"))
    (kept / "plan.json").write_text(json.dumps(asdict(run.plan), indent=1))
    for path in [run.config, *bed.sent(*run.streams), *bed.folder.glob("stderr-*.txt")]:
        if path.exists():
            shutil.copy(path, kept)
    if bed.journal(run.name).exists():
        shutil.copytree(bed.journal(run.name), kept / run.name)
    return kept


def main(count: int, seed: int, at_once: int) -> int:
    """Run the joins of some seeds; 1 if one was not explained."""
    failed: list[int] = []
    for first in range(seed, seed + count, BY_ONE_DRIVER):
        plans = [planned(each) for each in range(first, min(first + BY_ONE_DRIVER, seed + count))]
        with Bed() as bed, ThreadPoolExecutor(at_once) as pool:
            bed.driver()
            # An output of a run lies above all inputs.
            places = [(bed.streams(len(plan.sources)), bed.streams(1)[0] + 10_000) for plan in plans]
            lines = pool.map(lambda plan, place: carried_out(bed, plan, *place), plans, places)
            for line in lines:
                print(json.dumps(line), flush=True)
                if line.get("unexplained") or "failed" in line:
                    failed.append(line["seed"])
    print(json.dumps({"event": "summary", "joins": count, "failed": len(failed), "seeds": failed}))
    return int(bool(failed))


if __name__ == "__main__":
    words = argparse.ArgumentParser(prog="python -m tests.outside.random_joins")
    words.add_argument("count", nargs="?", type=int, default=100)
    words.add_argument("seed", nargs="?", type=int, default=1)
    words.add_argument("--at-once", type=int, default=AT_ONCE)
    told = words.parse_args()
    sys.exit(main(told.count, told.seed, told.at_once))
