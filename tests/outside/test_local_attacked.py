# SPDX-License-Identifier: Apache-2.0
"""Everything in one program, used as it is not meant to be: closed, cancelled, forked and asked from anywhere."""

from __future__ import annotations

from typing import Final

import pytest

from tests.outside.bed import Bed, Process

BEGIN: Final = """
import asyncio, os, signal, sys, threading, time, numpy as np, framegate as fg

def producers(gate, *names):
    return [gate.producer(name, shape=(4,), dtype="int64") for name in names]

def publish(first, count, *producers):
    for producer in producers:
        for n in range(first, first + count):
            producer.publish(np.full(4, n))

def raised(call):
    try:
        return call()
    except BaseException as failure:
        return f"{type(failure).__name__}: {failure}"

def interrupt(*_):
    raise KeyboardInterrupt

"""


def ran(bed: Bed, text: str) -> Process:
    """A program that came to a good end."""
    program = bed.python(BEGIN + text)
    assert program.ended() == 0, program
    return program


# --- Who closes what ---


def test_a_join_that_another_thread_reads_is_closed_by_three_at_once_and_every_row_is_read(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    joined, seen = gate.join("a", "b"), []
    reader = threading.Thread(target=lambda: seen.extend(row.out_seq for row in joined))
    reader.start()
    publish(0, 5, *producers(gate, "a", "b"))
    while len(joined) < 5:
        time.sleep(0.01)
    failures = []
    threads = [threading.Thread(target=lambda: failures.append(raised(joined.close))) for _ in range(3)]
    for thread in (*threads, ):
        thread.start()
    for thread in (*threads, reader):
        thread.join()
    print(seen, failures)
"""
    assert ran(own_bed, text).lines[-1] == "[0, 1, 2, 3, 4] [None, None, None]"


def test_rows_that_nobody_read_before_the_close_are_told_and_not_ended_in_silence(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    with gate.join("a", "b", journal="rows") as joined:
        publish(0, 5, *producers(gate, "a", "b"))
        next(joined)
        while len(joined) < 5:
            time.sleep(0.01)
    print(raised(lambda: next(joined)))
"""
    assert "unread=4" in ran(own_bed, text).lines[-2]


def test_a_function_that_raises_or_closes_ends_the_calls_and_is_told(own_bed: Bed) -> None:
    text = """
def fails(row):
    raise ZeroDivisionError("mine")

def run(names, call):
    joined = gate.join(*names)
    joined.on_row(lambda row: call(joined))
    publish(0, 5, *producers(gate, *names))
    time.sleep(0.5)
    joined.close()

with fg.local() as gate:
    print(raised(lambda: run(("a", "b"), fails)))
    print(raised(lambda: run(("c", "d"), lambda joined: joined.close())))
"""
    program = ran(own_bed, text)
    assert program.lines[-2:] == ["ZeroDivisionError: mine", "None"]
    assert "that on_row was given" in program.errors


def test_a_join_that_failed_keeps_no_other_from_its_good_end(own_bed: Bed) -> None:
    text = """
gate = fg.local()
failing = gate.join("a", b="nearest 5ms")
other = gate.join("c", "d", journal="rows")
gate.producer("a", shape=(4,), dtype="int64", clock="realtime")
publish(0, 3, *producers(gate, "b", "c", "d"))
while len(other) < 3 or not failing.is_over:
    time.sleep(0.01)
print(raised(gate.close).split(":")[0], other.is_closed, len(fg.journal("rows")), raised(gate.close))
"""
    assert ran(own_bed, text).lines[-1] == "ClockDomainRefused True 3 None"


def test_the_error_of_the_program_is_what_ends_its_block(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    failing = gate.join("a", b="nearest 5ms")
    gate.producer("a", shape=(4,), dtype="int64", clock="realtime")
    publish(0, 1, *producers(gate, "b"))
    while not failing.is_over:
        time.sleep(0.01)
    raise ZeroDivisionError("mine")
"""
    program = own_bed.python(BEGIN + text)
    assert program.ended() == 1
    assert program.errors.strip().endswith("ZeroDivisionError: mine"), program
    assert "During handling" not in program.errors


def test_a_program_that_closes_nothing_has_its_rows_and_leaves_nothing(own_bed: Bed) -> None:
    text = """
gate = fg.local()
kept, temporary = gate.join("a", "b", journal="rows"), gate.join("a", "b")
publish(0, 50, *producers(gate, "a", "b"))
while len(kept) < 50:
    time.sleep(0.01)
"""
    ran(own_bed, text)
    verified = own_bed.run("journal", "verify", own_bed.journal("rows"))
    assert verified.ended() == 0, verified
    assert any(line.startswith("rows=50 ") for line in verified.lines), verified
    assert not (own_bed.folder / "pool" / "joined").exists()
    assert not list((own_bed.folder / "pool").glob("joins-*/*"))


# --- Interrupts, cancelled tasks, forks ---


def test_a_cancelled_task_loses_no_row_and_keeps_no_event_loop_from_its_end(own_bed: Bed) -> None:
    text = """
async def read(joined, seen, within_s):
    async def loop():
        async for row in joined:
            seen.append(row.out_seq)
    try:
        await asyncio.wait_for(loop(), within_s)
    except asyncio.TimeoutError:
        pass

with fg.local() as gate:
    joined, seen = gate.join("a", "b"), []
    both = producers(gate, "a", "b")
    publish(0, 5, *both)
    asyncio.run(read(joined, seen, 2))
    publish(5, 5, *both)
    asyncio.run(read(joined, seen, 2))
    publish(10, 5, *both)
    seen += [next(joined).out_seq for _ in range(5)]
    joined.close()
print(seen == list(range(15)))
"""
    assert ran(own_bed, text).lines[-1] == "True"


def test_an_interrupted_loop_goes_on_where_it_was(own_bed: Bed) -> None:
    text = """
signal.signal(signal.SIGALRM, interrupt)
with fg.local() as gate:
    both, seen = producers(gate, "a", "b"), []
    with gate.join("a", "b") as joined:
        for turn in range(3):
            publish(5 * turn, 5, *both)
            signal.alarm(2)
            print(raised(lambda: seen.extend(row.out_seq for row in joined)))
print(sorted(set(seen)) == seen == list(range(15)))
"""
    assert ran(own_bed, text).lines[-1] == "True"


@pytest.mark.parametrize("how", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_process_leaves_everything_to_the_one_that_it_was_forked_from(own_bed: Bed, how: str) -> None:
    text = """
with fg.local() as gate:
    a, b = producers(gate, "a", "b")
    with gate.join("a", "b") as joined:
        publish(0, 3, a, b)
        print(next(joined).out_seq, flush=True)
        if (child := os.fork()) == 0:
            for call in (lambda: a.publish(np.zeros(4, "int64")), lambda: next(joined), lambda: gate.producer("c")):
                print(raised(call).split("\\n")[0], flush=True)
            joined.close(), gate.close()
            with fg.local() as own:
                print(own.producer("d", shape=(4,), dtype="int64").publish(np.zeros(4, "int64")), flush=True)
            HOW
        assert os.waitpid(child, 0)[1] == 0
        publish(3, 3, a, b)
        print([next(joined).out_seq for _ in range(5)], gate._driver.starts)
""".replace("HOW", how)
    program = ran(own_bed, text)
    assert [line.count("forked from") for line in program.lines[-5:]] == [1, 1, 1, 0, 0], program
    assert program.lines[-1] == "[1, 2, 3, 4, 5] 1"


def test_the_same_cell_run_twice_is_told_whose_producer_it_is(own_bed: Bed) -> None:
    text = """
cell = 'gate = fg.local(); left = gate.producer("left", shape=(4,), dtype="int64")'
space = dict(globals())
exec(cell, space)
print(raised(lambda: exec(cell, space)))
space["left"].close()
exec(cell, space)
print(space["left"].is_attached)
"""
    program = ran(own_bed, text)
    assert "This program has one already" in "\n".join(program.lines)
    assert program.lines[-1] == "True"


def test_a_producer_program_that_was_killed_is_started_again_at_once(own_bed: Bed) -> None:
    own_bed.driver()
    text = """
with fg.connect() as client:
    client.producer("a", shape=(4,), dtype="int64")
    print("up", flush=True)
    time.sleep(60 if len(sys.argv) > 1 else 0)
"""
    first = own_bed.python(BEGIN + text, "stay")
    while "up" not in first.lines and not first.has_ended:
        pass
    first.kill()
    ran(own_bed, text)


# --- Observing ---


def test_two_threads_observe_and_each_answer_is_of_its_own_question(own_bed: Bed) -> None:
    text = """
signal.signal(signal.SIGALRM, interrupt)
with fg.local() as gate:
    both, over = producers(gate, "a", "b"), threading.Event()

    def run():
        n = 0
        while not over.wait(0.005):
            publish(n, 1, *both)
            n += 1

    def observe(found):
        for _ in range(50):
            found.append(raised(lambda: gate.observe("a", "b", max_age_ms=60_000).row["out_time_ns"]))

    running = threading.Thread(target=run)
    running.start()
    gate.observe("a", "b", max_age_ms=60_000)
    for step in range(50):
        signal.setitimer(signal.ITIMER_REAL, 0.0005 + step / 1e5)
        raised(lambda: gate.observe("a", "b", max_age_ms=60_000))
        signal.setitimer(signal.ITIMER_REAL, 0)
    began_ns, found = time.monotonic_ns(), ([], [])
    threads = [threading.Thread(target=observe, args=(each,)) for each in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    running.join()
    answers = [*found[0], *found[1]]
    print(len(set(answers)), all(type(each) is int and each >= began_ns for each in answers))
"""
    assert ran(own_bed, text).lines[-1] == "100 True"


def test_an_observation_of_streams_that_ended_says_so_and_works_when_they_are_back(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    for turn in range(2):
        both = producers(gate, "a", "b")
        publish(7 + turn, 1, *both)
        print(gate.observe("a", "b", max_age_ms=60_000).a.array[0])
        for each in both:
            each.end()
            each.close()
        time.sleep(0.5)
        print(raised(lambda: gate.observe("a", "b", max_age_ms=60_000, wait_s=2)).split("\\n")[0].split(": ")[-1])
    one = producers(gate, "c")[0]
    one.publish(np.zeros(4, "int64"), timestamp_ns=None)
    print(raised(lambda: gate.observe("c")).split("\\n")[0])
    print(raised(lambda: gate.observe("c", max_age_ms=float("nan"))).split("\\n")[0])
"""
    lines = ran(own_bed, text).lines
    # The join that ended is asked, or one that was begun behind it and sees nobody.
    assert (lines[0], lines[2]) == ("7", "8"), lines
    assert {lines[1], lines[3]} <= {"every input has ended", "no frame came"}, lines
    assert "has no time" in lines[4]
    assert "numbers from 0 on" in lines[5]


# --- What was dropped ---


def test_how_far_frames_missed_is_told_of_each_of_a_row_of_them_and_after_the_close(own_bed: Bed) -> None:
    text = """
MS = 1_000_000
with fg.local() as gate:
    with gate.join("a", b="nearest 5ms") as joined:
        a, b, now = *producers(gate, "a", "b"), time.monotonic_ns()
        for producer, count in ((b, 20), (a, 40)):
            for n in range(count):
                producer.publish(np.full(4, n), timestamp_ns=now + 10 * n * MS)
            producer.end()
        print(len(list(joined)))
    print(joined.dropped())
"""
    assert ran(own_bed, text).lines[-1] == (
        "b: 20 times no frame lay within 5 ms: the nearest was about 105 ms away at the median, 200 ms at most"
    )


# --- What is wrong is said ---


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("gate.join(10001, 10002)", 'inputs={"left": {"stream": 10001}}'),
        ('gate.join("10001", "b")', 'inputs={"left": {"stream": 10001}}'),
        ('gate.join("a", journal="nearest 5ms")', "option of a join"),
        ('gate.join("a", pipeline="offset 2")', 'inputs={"pipeline": "offset 2"}'),
        ('gate.join("a", "b", every=float("inf"))', "every is a duration"),
        ('gate.join("a", "b", every=[1])', "every is a duration"),
        ('gate.join("a", "b", every="1ns")', "every is a duration"),
        ('gate.join(inputs=["a", "b"])', "rules by name"),
        ('gate.join(inputs={"a": {"name": "b"}})', "one name"),
        ('gate.join("join.toml", every="1s")', "says itself"),
        ('gate.join("join.toml", imu="nearest 5ms")', "written into the file"),
        ('gate.observe("a", wait_s=-1)', "numbers from 0 on"),
    ],
)
def test_a_wrong_call_says_what_is_meant(own_bed: Bed, call: str, says: str) -> None:
    program = own_bed.python(f"import framegate as fg\nwith fg.local() as gate:\n    {call}\n")
    assert program.ended() == 1, program
    assert says in program.errors, program
    assert "[FG-" in program.errors


def test_a_file_takes_options_of_every_table_and_none_is_left_out(own_bed: Bed) -> None:
    own_bed.config("rows", "sequence", {"a": {}, "b": {}})
    text = """
from pathlib import Path
with fg.local() as gate:
    with gate.join(Path("rows.toml"), seal_ms=5, journal="other", pipeline=None) as joined:
        print(joined.config.journal.seal_ms, joined.journal.path.name)
    with gate.join("a", "b", journal=None, every=None) as joined:
        print(joined.journal.path.parent.name)
"""
    assert ran(own_bed, text).lines == ["5 other", "joined"]


def test_a_journal_is_waited_for_and_its_absence_says_for_how_long(own_bed: Bed) -> None:
    text = """
print(raised(lambda: fg.journal("rows", wait_s=0.5)))
made = threading.Timer(1, lambda: joins.append(gate.join("a", "b", journal="rows")))
joins = []
with fg.local() as gate:
    made.start()
    print(fg.journal("rows", wait_s=60).path.name)
    made.join()
"""
    lines = ran(own_bed, text).lines
    assert "waited_s=0.5" in lines[0]
    assert "path=" in lines[0]
    assert lines[-1] == "rows"


def test_a_frame_goes_to_other_libraries_as_dlpack_and_stays_mapped(own_bed: Bed) -> None:
    text = """
with fg.local() as gate:
    camera, consumer = producers(gate, "a")[0], gate.consumer("a", timeout_s=30)
    camera.wait_consumers(1)
    publish(7, 1, camera)
    frame = next(iter(consumer))
    array = np.from_dlpack(frame)
    print(array.dtype, array.tolist(), array.flags.writeable, frame.__dlpack_device__())
print(array.tolist())
"""
    assert ran(own_bed, text).lines[-2:] == ["int64 [7, 7, 7, 7] False (1, 0)", "[7, 7, 7, 7]"]
