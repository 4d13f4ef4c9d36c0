# SPDX-License-Identifier: Apache-2.0
"""``framegate driver``, ``produce`` and ``consume`` as programs: what they promise to scripts."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.schema import decode_any
from framegate.schema.control import CheckpointBarrier, ControlSignal, Watermark
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.streams import Streams, untethered

from tests.system.pool import STREAM, Pool

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

SMALL = ("--shape", "32x64")


@pytest.fixture
def pool(system: System, shm: Path) -> Pool:
    return Pool(system, shm)


@pytest.fixture
def driver(pool: Pool) -> Program:
    return pool.start_driver()


def summary_of(program: Program) -> dict[str, Any]:
    assert program.wait() == 0, program
    found = program.objects()[-1]
    assert found["event"] == "summary", program
    return found


def test_two_consumers_get_every_frame_and_end_with_the_stream(pool: Pool, driver: Program, shm: Path) -> None:
    consumers = [pool.consume("--verify", "--json") for _ in range(2)]
    producer = pool.produce(
        *("--rate", "1000", "--count", "500", "--pattern", "counter", "--end", "--wait-consumers", "2", "--json"),
        *SMALL,
    )
    made = summary_of(producer)
    assert (made["frames"], made["bytes"], made["descriptors_lost"]) == (500, 500 * 2048, 0)
    for consumer in consumers:
        read = summary_of(consumer)
        assert {name: read[name] for name in ("frames", "gap_drops", "late_drops", "verify_errors")} == {
            "frames": 500,
            "gap_drops": 0,
            "late_drops": 0,
            "verify_errors": 0,
        }
        assert [line["seq"] for line in consumer.objects() if "seq" in line] == list(range(500))
    driver.send(signal.SIGTERM)
    assert driver.wait() == 0, driver
    assert not Path(pool.base_dir).exists()


def test_the_objects_of_json_have_the_promised_members(pool: Pool, driver: Program) -> None:
    consumer = pool.consume("--json", "--count", "3")
    producer = pool.produce("--rate", "100", "--wait-consumers", "1", "--json", "--shape", "2x3", "--dtype", "float32")
    ready = producer.says(event="ready")
    assert (ready["pid"], ready["stream"]) == (producer.pid, STREAM)
    assert consumer.says(event="ready")["pid"] == consumer.pid
    read = summary_of(consumer)
    frames = [line for line in consumer.objects() if "event" not in line]
    assert len(frames) == read["frames"] == 3
    assert set(frames[0]) == {"stream", "seq", "epoch", "timestamp_ns", "dtype", "shape", "bytes"}
    assert (frames[0]["dtype"], frames[0]["shape"], frames[0]["bytes"]) == ("float32", [2, 3], 24)
    assert frames[0]["epoch"] == ready["epoch"]
    assert {"frames", "gap_drops", "late_drops", "verify_errors"} <= set(read)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both_with_their_summary(pool: Pool, driver: Program, number: signal.Signals) -> None:
    consumer = pool.consume("--json")
    consumer.says(event="ready")
    producer = pool.produce("--rate", "200", "--wait-consumers", "1", "--json", *SMALL)
    consumer.until(lambda: len(consumer.objects()) > 20, "reading")
    producer.send(number)
    assert summary_of(producer)["frames"] > 0
    consumer.send(number)
    assert summary_of(consumer)["frames"] > 0


def test_a_signal_ends_a_producer_that_waits_for_consumers(pool: Pool, driver: Program) -> None:
    producer = pool.produce("--rate", "200", "--wait-consumers", "3", "--json", *SMALL)
    producer.says(event="ready")
    producer.send(signal.SIGINT)
    assert summary_of(producer)["frames"] == 0


def test_for_people_there_is_one_line_and_nothing_on_standard_error(pool: Pool, driver: Program) -> None:
    consumer = pool.consume("--verify")
    producer = pool.produce("--rate", "1000", "--count", "20", "--end", "--wait-consumers", "1", *SMALL)
    assert producer.wait() == consumer.wait() == 0
    assert producer.stdout.startswith("20 frames, 40 KiB in ")
    assert consumer.stdout == ("20 frames, 40 KiB, 0 never came, 0 came and were overwritten, 0 were wrong\n")
    assert producer.stderr == consumer.stderr == ""


def test_a_moving_picture_is_known_by_its_lag_and_by_no_other(pool: Pool, driver: Program) -> None:
    moving = ("--pattern", "moving", "--lag")
    consumers = [pool.consume("--verify", *moving, lag, "--json") for lag in ("2", "3")]
    words = (*moving, "2", "--shape", "32x48", "--rate", "1000", "--count", "50", "--end", "--wait-consumers", "2")
    assert pool.produce(*words).wait() == 0
    for consumer, exit_code, wrong in zip(consumers, (0, 1), (0, 50), strict=True):
        assert consumer.wait() == exit_code, consumer
        found = consumer.objects()[-1]
        assert (found["frames"], found["verify_errors"]) == (50, wrong)


@pytest.mark.parametrize("words", [("--pattern", "moving"), ("--lag", "1")])
def test_a_pattern_that_cannot_be_made_is_wrong_usage(pool: Pool, words: tuple[str, ...]) -> None:
    producer = pool.produce("--rate", "1", "--shape", "2x3", *words)
    assert producer.wait() == 2, producer
    assert "FG-907" in producer.stderr


def test_a_payload_that_is_not_the_counters_is_a_verify_error_and_the_exit_code_says_so(
    pool: Pool, driver: Program
) -> None:
    consumer = pool.consume("--verify", "--json")
    producer = pool.produce(
        "--rate", "1000", "--count", "5", "--pattern", "noise", "--end", "--wait-consumers", "1", *SMALL
    )
    assert producer.wait() == 0
    assert consumer.wait() == 1
    assert consumer.objects()[-1]["verify_errors"] == 5


@pytest.mark.parametrize("command", ["produce", "consume"])
@pytest.mark.parametrize("what_is_there", ["nothing", "a media driver"])
def test_without_a_driver_the_error_names_the_command_that_starts_one(
    pool: Pool, command: str, what_is_there: str, request: pytest.FixtureRequest
) -> None:
    if what_is_there != "nothing":
        request.getfixturevalue("media_driver")
    words = ["--wait-driver", "0.2"] + (["--rate", "1"] if command == "produce" else [])
    program = getattr(pool, command)(*words)
    assert program.wait() == 3, program
    first, second = program.stderr.splitlines()
    assert first.startswith("[FG-")
    assert second == f"Start one with: framegate driver --aeron-dir {pool.aeron_dir}"
    told = getattr(pool, command)(*words, "--json")
    assert told.wait() == 3, told
    assert (told.objects()[-1]["event"], told.objects()[-1]["code"]) == ("error", int(first[4:7]))


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--rate", "5", "--max-rate"),
        ("--rate", "0"),
        ("--rate", "nan"),
        ("--rate", "inf"),
        ("--max-rate", "--shape", "4by4"),
        ("--max-rate", "--shape", "1x1x1x1x1x1x1x1x1"),
        ("--max-rate", "--dtype", "float16"),
        ("--max-rate", "--dtype", "nonsense"),
        ("--max-rate", "--pattern", "plaid"),
        ("--max-rate", "--count", "0"),
        ("--max-rate", "--wait-consumers", "-1"),
        ("--schedule", "/nowhere/frames.csv"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_before_a_driver_is_looked_for(pool: Pool, words: tuple[str, ...]) -> None:
    program = pool.produce(*words)
    assert program.wait() == 2, program
    assert program.stderr.startswith("[FG-9"), program


def test_a_mistake_in_a_schedule_is_told_with_its_line(pool: Pool, tmp_path: Path) -> None:
    schedule = tmp_path / "frames.csv"
    schedule.write_text("at_ms,seq,timestamp_ns\n0,0,\n0,0,\n")
    program = pool.produce("--schedule", str(schedule))
    assert program.wait() == 2, program
    assert f"file={schedule} line=3" in program.stderr


def test_a_schedule_is_played_in_its_order_with_its_times_and_fill(
    pool: Pool, driver: Program, tmp_path: Path, system: System
) -> None:
    schedule = tmp_path / "frames.csv"
    schedule.write_text(
        "at_ms,seq,timestamp_ns,descriptor_timestamp_ns,fill,barrier,watermark_ms\n"
        "0,0,1000,,7,,\n"
        "1,5,2000,2500,8,,\n"
        "2,,,,,42,\n"
        "3,,,,,,-3\n"
        "4,6,,,9,,\n"
    )
    streams = Streams()
    with AeronTransport(pool.aeron_dir) as transport, pool.client() as client:
        ear = transport.add_subscription(untethered(streams.channel), streams.descriptor)
        consumer = client.consumer(STREAM)
        producer = pool.produce(
            "--schedule", str(schedule), "--wait-consumers", "1", "--end", "--json", "--shape", "4x4"
        )
        frames = list(consumer)
        assert producer.wait() == 0, producer
        heard = [decode_any(received.data) for received in ear.poll()]
    kinds = [type(message) for message in heard]
    assert kinds == [
        FrameDescriptor,
        FrameDescriptor,
        CheckpointBarrier,
        Watermark,
        FrameDescriptor,
        ControlSignal,
    ]
    barrier, watermark, end = heard[2], heard[3], heard[5]
    assert isinstance(barrier, CheckpointBarrier)
    assert (barrier.checkpoint_id, barrier.after_seq, barrier.stream_id) == (42, 5, STREAM)
    assert isinstance(watermark, Watermark)
    assert watermark.timestamp_ms == -3
    assert isinstance(end, ControlSignal)
    assert end.after_seq == 6
    assert [(each.seq, each.timestamp_ns, each.descriptor_timestamp_ns) for each in frames] == [
        (0, 1000, None),
        (5, 2000, 2500),
        (6, None, None),
    ]
    assert [bytes(each.array.reshape(-1))[:2] for each in frames] == [b"\7\7", b"\x08\x08", b"\t\t"]
    assert consumer.counters()["gap_drops"] == 4


def test_a_frame_that_fits_no_pool_is_refused_with_the_option_that_helps(pool: Pool, driver: Program) -> None:
    program = pool.produce("--max-rate", "--count", "1", "--shape", "300x300")
    assert program.wait() == 1, program
    assert "FRAME_TOO_LARGE" in program.stderr
    assert "--frame-bytes" in program.stderr


def test_a_second_producer_is_refused_with_the_drivers_reason(pool: Pool, driver: Program) -> None:
    first = pool.produce("--rate", "10", "--json", *SMALL)
    first.says(event="ready")
    second = pool.produce("--rate", "10", "--json", *SMALL)
    assert second.wait() == 1, second
    error = second.objects()[-1]
    assert (error["name"], error["facts"]["code"]) == ("ATTACH_REFUSED", "REJECTED")
