# SPDX-License-Identifier: Apache-2.0
"""Everything in one program, as a person writes it: who starts it, who dies, and what is left."""

from __future__ import annotations

import hashlib
import os
import re
import signal
from pathlib import Path
from typing import Final

import pytest

from tests.outside.bed import Bed, Process, apart, until

ROWS: Final = """
import sys, framegate as fg
with fg.local() as gate:
    print("gate", gate, flush=True)
    with gate.join("left", "right", journal=sys.argv[1]) as joined:
        print("joining", flush=True)
        for row in joined:
            if row.row % 100 == 0:
                print("row", row.row, flush=True)
    print("ended", joined.journal.next_row, flush=True)
"""
"""A program that joins what other programs produce, until they end."""

HOLDS: Final = """
import sys, time, framegate as fg
with fg.local() as gate:
    print("gate", gate, flush=True)
    sys.stdin.readline() if len(sys.argv) < 2 else time.sleep(float(sys.argv[1]))
"""
"""A program that has a gate for some seconds."""


def said(program: Process, word: str) -> str:
    """Wait for a line that begins with a word."""
    until(lambda: program.has_ended or any(line.startswith(word) for line in program.lines), f"{word}: {program}")
    found = next((line for line in program.lines if line.startswith(word)), None)
    assert found is not None, program
    return found


def pid_of(line: str) -> int:
    found = re.search(r"pid (\d+)", line)
    assert found is not None, line
    return int(found[1])


def bell_of(journal: Path) -> Path:
    """The semaphore on which a program waits for rows; it lies outside of the journal's folder."""
    place = hashlib.sha256(os.fsencode(journal.resolve()) + b"\0program").hexdigest()[:32]
    return Path(f"/dev/shm/sem.framegate-{place}")  # noqa: S108  (where the C library keeps them)


def is_there(pid: int) -> bool:
    """Whether a process lives; one that nobody has waited for yet does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("first", ["producers", "program"])
def test_producers_by_hand_are_joined_in_a_program_from_their_first_frame(own_bed: Bed, first: str) -> None:
    if first == "producers":
        own_bed.driver()
    program = own_bed.python(ROWS, own_bed.journal("rows")) if first == "program" else None
    if program is not None:
        said(program, "joining")
    for name in ("left", "right"):
        own_bed.rate(name, 100, 300, consumers=1)
        apart(0.7)
    program = program or own_bed.python(ROWS, own_bed.journal("rows"))
    assert program.ended() == 0, program
    assert said(program, "ended") == "ended 300"
    own_bed.audit("rows", "left", "right")


def test_a_producer_that_is_killed_and_started_anew_is_joined_on(own_bed: Bed) -> None:
    own_bed.driver()
    program = own_bed.python(ROWS, own_bed.journal("rows"))
    said(program, "joining")
    left = own_bed.rate("left", 100, 400, consumers=1)
    right = own_bed.rate("right", 100, 400, consumers=1)
    said(program, "row 100")
    right.kill()
    own_bed.rate("right", 100, 400, consumers=1)
    assert left.ended() == 0, left
    assert program.ended() == 0, program
    found = own_bed.audit("rows", "left", "right")
    assert found["inputs"]["left"]["joined"] > 100


def test_a_program_that_is_killed_takes_its_driver_with_it_and_the_next_one_tidies_up(own_bed: Bed) -> None:
    text = ROWS.replace(", journal=sys.argv[1]", "")
    program = own_bed.python(text)
    driver = pid_of(said(program, "gate"))
    said(program, "joining")
    left_behind = own_bed.folder / "pool" / "joined"
    (journal,) = left_behind.iterdir()
    bell = bell_of(journal)
    assert bell.exists()
    program.kill()
    until(lambda: not is_there(driver), "the driver's end")
    until(lambda: not (own_bed.folder / "aeron").exists(), "the media driver's end")
    assert own_bed.python(HOLDS, "0").ended() == 0
    assert not left_behind.exists()
    assert not bell.exists()


def test_the_driver_of_a_program_says_nothing_on_its_terminal_and_all_in_a_file(own_bed: Bed) -> None:
    log = own_bed.folder / "pool" / "driver.log"
    quiet = own_bed.python(HOLDS, "0")
    assert (quiet.ended(), quiet.errors, log.exists()) == (0, "", False)
    own_bed.environment["FRAMEGATE_LOG"] = "info"
    talkative = own_bed.python(HOLDS, "0")
    assert (talkative.ended(), talkative.errors) == (0, "")
    assert "INFO framegate.driver.run_driver: started the media driver" in log.read_text()


def test_programs_share_a_driver_and_when_its_program_ends_another_one_starts_its_own(own_bed: Bed) -> None:
    first = own_bed.python(HOLDS, "4")
    assert "its own driver" in said(first, "gate")
    second = own_bed.python(ROWS, own_bed.journal("rows"))
    assert "another program's driver" in said(second, "gate")
    said(second, "joining")
    assert first.ended() == 0, first
    # The streams of the second program go on under its own driver.
    for name in ("left", "right"):
        own_bed.rate(name, 100, 200, consumers=1)
    assert second.ended() == 0, second
    assert said(second, "ended") == "ended 200"
    own_bed.audit("rows", "left", "right")


def test_programs_that_start_at_once_have_one_driver(own_bed: Bed) -> None:
    programs = [own_bed.python(HOLDS, "5") for _ in range(4)]
    lines = [said(program, "gate") for program in programs]
    assert sum("its own driver" in line for line in lines) == 1, lines
    assert [program.ended() for program in programs] == [0, 0, 0, 0]


def test_ctrl_c_ends_a_program_with_its_driver_and_leaves_nothing(own_bed: Bed) -> None:
    program = own_bed.python(ROWS.replace(", journal=sys.argv[1]", ""))
    driver = pid_of(said(program, "gate"))
    said(program, "joining")
    bell = bell_of(*(own_bed.folder / "pool" / "joined").iterdir())
    assert bell.exists()
    program.send(signal.SIGINT)
    assert program.ended() != 0
    assert not bell.exists()
    assert "KeyboardInterrupt" in program.errors
    assert not is_there(driver)
    assert {path.name for path in (own_bed.folder / "pool").iterdir()} == {"streams.json", "streams.lock"}


# --- Rows, in every way in which a program reads them ---

PUBLISHES: Final = """
import asyncio, sys, numpy as np, framegate as fg

def publish(gate, count, *names):
    for name in names:
        with gate.producer(name, shape=(4,), dtype="int64") as producer:
            for n in range(count):
                producer.publish(np.full(4, n))
            producer.end()

"""


def numbers(bed: Bed, text: str) -> str:
    """The last line of a program that publishes and joins by itself."""
    program = bed.python(PUBLISHES + text)
    assert program.ended() == 0, program
    return program.lines[-1]


def test_rows_come_to_an_async_loop_and_to_a_table(own_bed: Bed) -> None:
    text = """
async def main(gate):
    with gate.join("a", "b") as joined:
        publish(gate, 50, "a", "b")
        seen = [int(row.a[0]) async for row in joined]
        last = joined.to_pandas()["a.seq"].tolist()[-1]
        return seen == list(range(50)), joined.to_arrow().num_rows, last, len(joined)

with fg.local() as gate:
    first = asyncio.run(main(gate))
    print(first)
"""
    assert numbers(own_bed, text) == "(True, 50, 49, 50)"


def test_a_join_that_is_closed_at_once_has_joined_what_was_published_before(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    found = []
    for n in range(12):
        seen = []
        with gate.join(f"a{n}", f"b{n}").on_row(lambda row: seen.append(row.out_seq)):
            publish(gate, 50, f"a{n}", f"b{n}")
        found.append(seen == list(range(50)))
    print(found)
"""
    assert numbers(own_bed, text) == str([True] * 12)


def test_what_was_not_joined_is_told_in_words_and_by_how_much_it_missed(own_bed: Bed) -> None:
    text = """
def times(gate, name, first, step, count):
    with gate.producer(name, shape=(4,), dtype="int64") as producer:
        for n in range(count):
            producer.publish(np.full(4, n), timestamp_ns=first + n * step)
        producer.end()

MS = 1_000_000
with fg.local() as gate, gate.join("a", b="nearest 5ms") as joined:
    # A second is 10**9 nanoseconds: all times lie near the present of the monotonic clock.
    import time
    now = time.monotonic_ns()
    times(gate, "a", now, 100 * MS, 10)
    times(gate, "b", now + 12 * MS, 100 * MS, 10)
    rows = list(joined)
    print(len(rows), joined.unmatched()["a"])
    print(str(joined.dropped()).splitlines()[-1])
"""
    program = own_bed.python(PUBLISHES + text)
    assert program.ended() == 0, program
    assert program.lines[-2] == "0 {'no_partner': 10}"
    assert program.lines[-1] == (
        "b: 10 times no frame lay within 5 ms: the nearest was about 12 ms away at the median, 12 ms at most"
    )


def test_the_clock_that_does_not_fit_is_named(own_bed: Bed) -> None:
    text = """
with fg.local() as gate, gate.join("a", b="nearest 5ms") as joined:
    gate.producer("a", shape=(4,), dtype="int64", clock="realtime")
    gate.producer("b", shape=(4,), dtype="int64").publish(np.zeros(4, "int64"))
    for row in joined:
        pass
"""
    program = own_bed.python(PUBLISHES + text)
    assert program.ended() == 1, program
    assert "realtime" in program.errors
    assert "[FG-" in program.errors


# --- Observing ---


def test_what_was_observed_is_what_the_journal_keeps(own_bed: Bed) -> None:
    text = """
import hashlib, threading, time
with fg.local() as gate:
    cameras = [gate.producer(name, shape=(64, 64), dtype="uint8") for name in ("left", "right")]
    over = threading.Event()

    def run():
        n = 0
        while not over.wait(0.005):
            n += 1
            for camera in cameras:
                camera.publish(np.full((64, 64), n % 251, "uint8"))

    thread = threading.Thread(target=run)
    thread.start()
    acted = hashlib.sha256()
    for _ in range(100):
        newest = gate.observe("left", "right", max_age_ms=5_000, journal="observed")
        acted.update(newest.left.array.tobytes() + newest["right"].array.tobytes())
    over.set()
    thread.join()
kept = hashlib.sha256()
for row in fg.journal("observed"):
    kept.update(row.left.tobytes() + row.right.tobytes())
print(acted.hexdigest() == kept.hexdigest(), len(fg.journal("observed")))
"""
    assert numbers(own_bed, text) == "True 100"


def test_an_observation_refuses_what_is_too_old_and_what_is_not_there_by_name(own_bed: Bed) -> None:
    text = """
import time
with fg.local() as gate:
    left, right = (gate.producer(name, shape=(4,), dtype="int64") for name in ("left", "right"))
    left.publish(np.zeros(4, "int64"))
    try:
        gate.observe("left", "right", wait_s=0.5)
    except fg.errors.ObservedNothing as refused:
        print(refused.facts["inputs"])
    right.publish(np.zeros(4, "int64"))
    gate.observe("left", "right", max_age_ms=60_000)
    time.sleep(0.3)
    left.publish(np.zeros(4, "int64"))
    try:
        gate.observe("left", "right", max_age_ms=250)
    except fg.errors.ObservedTooOld as refused:
        print(refused.facts["input"], refused.facts["age_ms"] > 250)
"""
    program = own_bed.python(PUBLISHES + text)
    assert program.ended() == 0, program
    assert program.lines[-2:] == ["right", "right True"]


# --- What is wrong is said ---


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('gate.join("left", imu="neerest 5ms")', "did you mean nearest"),
        ('gate.join("left", "row")', "column of this name"),
        ('gate.join("left", "pipeline")', "option of a join"),
        ('gate.join("left", seal_mz=3)', "did you mean seal_ms"),
        ('gate.producer("Left Camera")', "small letters"),
        ('gate.join("nothing.toml")', "nothing.toml"),
        ('gate.join("left", "right", unmatched="no")', "unmatched"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_write(own_bed: Bed, call: str, says: str) -> None:
    program = own_bed.python(f"import framegate as fg\nwith fg.local() as gate:\n    {call}\n")
    assert program.ended() == 1, program
    assert says in program.errors, program
    assert "[FG-" in program.errors
    assert not (own_bed.folder / "pool" / "joined").exists()
