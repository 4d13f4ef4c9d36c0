# SPDX-License-Identifier: Apache-2.0
"""Joins to be measured: a driver, and for each two native producers and a ``framegate join``, all of them processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.journal.head import Head
from framegate.schema.errors import AddTimedOut
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import Idler, sleep_ns

from dev.bench.pool_bed import driver

STREAMS: Final = {"left": 10_001, "right": 10_002}
"""Of the first join; those of every further one follow."""
_OUT_STREAM: Final = 20_001
_PENDING_BYTES: Final = 256 << 20
_SETTLED_NS: Final = 1_000_000_000
"""Several times the age at which a batch is sealed: no row that is still to come takes longer."""
_LOOK_NS: Final = 2_000_000
_DRAIN_NS: Final = 30_000_000_000

CONFIG: Final = """
[join]
out_stream = {out_stream}
policy = "sequence"
journal = {journal}
pending_bytes = {pending_bytes}

[journal]
{keys}
"""
INPUT: Final = """
[[input]]
name = "{name}"
stream = {stream}
offset = {offset}
"""
FAULTED: Final = {"max_bytes": "1GiB", "when_full": "drop_oldest", "prefault": "all"}
"""All of the journal has memory before the first row, and is used again and again."""
FRESH: Final = {"max_bytes": "8GiB", "when_full": "drop_oldest", "prefault": "next"}
"""Every segment is a new file, until ``max_bytes`` are full: then the oldest are used again."""


@dataclass(frozen=True, slots=True)
class Case:
    """Frames of a size in rings of a depth."""

    frame_bytes: int
    slots: int
    waiting: int = 0
    """How many frames of the second input always wait for their partners."""

    @property
    def pending_bytes(self) -> int:
        """Most bytes of copies of frames that wait: the default, or what lets them all wait, at first on both sides."""
        return max(_PENDING_BYTES, self.waiting * self.frame_bytes * 5 // 2)


@dataclass(slots=True)
class Run:
    """What one run of both producers came to."""

    offered: int
    joined: int
    slowest_ns: int
    cut_ns: list[int]
    """When both had sent each barrier, by the wall clock."""


class Process:
    """A child that answers lines with lines of JSON."""

    def __init__(self, *words: str) -> None:
        self._words = words
        command = [sys.executable, "-m", *words]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self._process.pid

    def tell(self, order: object) -> None:
        """Say a line."""
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        self._process.stdin.write(f"{json.dumps(order)}\n".encode())
        self._process.stdin.flush()

    def answer(self) -> Any:
        """The next thing that it says."""
        assert self._process.stdout is not None  # noqa: S101  (for the type checker)
        line = self._process.stdout.readline()
        if not line:
            raise AddTimedOut("a process of the measurement ended early", words=" ".join(self._words))
        return json.loads(line)

    def until(self, event: str) -> dict[str, Any]:
        """The next thing that it says of this event; what it says before is passed over."""
        while (told := self.answer()).get("event") != event:
            continue
        return dict(told)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; what it says afterwards is read as ever."""
        self._process.send_signal(number)

    def close(self, number: signal.Signals | None = None) -> None:
        """End it: by a signal, or by closing what it reads."""
        assert self._process.stdin is not None  # noqa: S101  (for the type checker)
        self._process.stdin.close()
        if number is not None:
            self._process.send_signal(number)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def cpu_ns(pid: int) -> int:
    """What the threads of a process have computed so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


class Join:
    """Two producers and an agent that runs."""

    def __init__(self, home: Path, case: Case, journal: Path, agent: Process, producers: list[Process]) -> None:
        self.home, self.case, self.journal = home, case, journal
        self._agent, self._producers = agent, producers
        head = Head.open(self.journal)
        if head is None:
            raise AddTimedOut("the journal has no head", journal=self.journal)
        self._head = head

    @property
    def next_row(self) -> int:
        """The row that is sealed next."""
        return self._head.next_row

    def pids(self) -> Iterable[int]:
        """The processes that work for the measurement; the driver's do next to nothing."""
        return [self._agent.pid, *(each.pid for each in self._producers)]

    def paced(self, rate_hz: float, count: int) -> Run:
        """Both send so many frames at a rate."""
        return self._run({"rate_hz": rate_hz, "count": count}, count)

    def held(self, count: int) -> Run:
        """Both send as fast as the agent joins."""
        return self._run({"journal": str(self.journal), "ahead": self.case.slots // 2, "count": count}, count)

    def cut(self, rate_hz: float, seconds: int, first_cut: int, cuts_hz: int = 1) -> Run:
        """Both send at a rate, with so many barriers a second from that id on; 0: without."""
        count = int(rate_hz) // cuts_hz * cuts_hz * seconds
        return self._run({"rate_hz": rate_hz, "seconds": seconds, "first_cut": first_cut, "cuts_hz": cuts_hz}, count)

    def begin_cuts(self, rate_hz: float, cuts: Sequence[Sequence[tuple[float, int]]]) -> None:
        """Each producer sends at a rate for some seconds, then a barrier, and so on; ``end_cuts`` waits for both."""
        for each, own in zip(self._producers, cuts, strict=True):
            each.tell({"rate_hz": rate_hz, "cuts": own})

    def end_cuts(self) -> list[dict[int, int]]:
        """When each producer had sent its barriers, by their ids; waits until all have sent everything."""
        answers = [each.answer()["sent_ns"] for each in self._producers]
        return [{int(checkpoint_id): at_ns for checkpoint_id, at_ns in sent_ns.items()} for sent_ns in answers]

    def signal_producer(self, index: int, number: signal.Signals) -> None:
        """Stop one of the producers, or let it go on."""
        self._producers[index].send(number)

    def end(self) -> dict[str, Any]:
        """End the agent; what it counted."""
        self._agent.send(signal.SIGINT)
        return self._agent.until("summary")

    def agent_cpu_ns(self) -> int:
        """What the agent's threads have computed so far."""
        return cpu_ns(self._agent.pid)

    def watched(self, rate_hz: float, count: int) -> list[tuple[int, int]]:
        """The same as ``paced``; when the next row changed, and what it was then, as a reader sees it that polls."""
        row, end = self.next_row, self.next_row + count
        seen: list[tuple[int, int]] = []
        for each in self._producers:
            each.tell({"rate_hz": rate_hz, "count": count})
        idler = Idler("yield")
        deadline_ns = monotonic_ns() + int(count / rate_hz * 1e9) + _DRAIN_NS
        while row < end and (now_ns := monotonic_ns()) < deadline_ns:
            if self.next_row != row:
                row = self.next_row
                seen.append((now_ns, row))
            idler.idle()
        for each in self._producers:
            each.answer()
        return seen

    def _run(self, order: dict[str, Any], count: int) -> Run:
        before = self.next_row
        for each in self._producers:
            each.tell(order)
        answers = [each.answer() for each in self._producers]
        self._settle(before + count)
        slowest_ns = max(each["elapsed_ns"] for each in answers)
        cuts = zip(*(each.get("cut_ns", ()) for each in answers), strict=True)
        return Run(count, self.next_row - before, slowest_ns, [max(each) for each in cuts])

    def _settle(self, last: int) -> None:
        """Until the last row is there, or none has come for a while: an agent that others keep from the cores is late,
        and its rows would be counted for the next run."""
        now_ns = monotonic_ns()
        deadline_ns, changed_ns, row = now_ns + _DRAIN_NS, now_ns, self.next_row
        while row < last and now_ns - changed_ns < _SETTLED_NS and now_ns < deadline_ns:
            sleep_ns(_LOOK_NS)
            now_ns = monotonic_ns()
            if self.next_row != row:
                row, changed_ns = self.next_row, now_ns


@contextmanager
def joining(case: Case, **journal: object) -> Iterator[Join]:
    """A join with everything that it needs; gone afterwards. ``journal``: keys of its table."""
    with several_joining(case, 1, **journal) as (join,):
        yield join


@contextmanager
def several_joining(case: Case, joins: int, **journal: object) -> Iterator[list[Join]]:
    """The same with several of them over one driver, each with streams and a journal of its own."""
    with _bed(case) as (home, children):
        yield [_joining(home, case, number, journal, children, "") for number in range(joins)]


@contextmanager
def joining_within(program: str, case: Case, **journal: object) -> Iterator[Join]:
    """The same as ``joining``, with a program that joins by itself in place of `framegate join`."""
    with _bed(case) as (home, children):
        yield _joining(home, case, 0, journal, children, program)


@contextmanager
def _bed(case: Case) -> Iterator[tuple[Path, ExitStack]]:
    home = Path(tempfile.mkdtemp(prefix="framegate-bench-join-", dir="/dev/shm"))
    try:
        with driver(str(home), case.slots, case.frame_bytes), ExitStack() as children:
            yield home, children
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _joining(
    home: Path, case: Case, number: int, journal: dict[str, object], children: ExitStack, program: str
) -> Join:
    streams = {name: stream + len(STREAMS) * number for name, stream in STREAMS.items()}
    directory = home / ("journal" if number == 0 else f"journal{number}")
    config = home / f"{directory.name}.toml"
    config.write_text(_config(case, directory, _OUT_STREAM + number, streams, journal))
    producers = []
    for stream in streams.values():
        words = (f"{home}/aeron", f"{home}/pool", str(stream), str(case.frame_bytes))
        producers.append(Process("dev.bench.join_load", *words))
        children.callback(producers[-1].close)
        producers[-1].answer()
    where = ["--aeron-dir", f"{home}/aeron", "--base-dir", f"{home}/pool"]
    own = (program, str(config), f"{home}/aeron", f"{home}/pool")
    agent = Process(*own) if program else Process("framegate", "join", "--config", str(config), *where, "--json")
    children.callback(agent.close, signal.SIGINT)
    agent.until("ready")
    return Join(home, case, directory, agent, producers)


def _config(
    case: Case, directory: Path, out_stream: int, streams: Mapping[str, int], journal: Mapping[str, object]
) -> str:
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in journal.items())
    offsets = zip(streams.items(), (0, -case.waiting), strict=True)
    inputs = "".join(INPUT.format(name=name, stream=stream, offset=offset) for (name, stream), offset in offsets)
    place = json.dumps(str(directory))
    head = CONFIG.format(journal=place, out_stream=out_stream, keys=keys, pending_bytes=case.pending_bytes)
    return head + inputs
