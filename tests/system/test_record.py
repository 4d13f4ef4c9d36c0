# SPDX-License-Identifier: Apache-2.0
"""`framegate record` over a media driver: what producers sent is in the file, or the file says why it is not."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.recording.reader import Recording
from framegate.schema.control import CheckpointBarrier
from framegate.schema.errors import DONE, ENVIRONMENT, FAILED, WRONG_USAGE
from mcap.reader import make_reader

import framegate
from tests.system.conftest import System
from tests.system.liar import Liar, newest_epoch
from tests.system.record_bed import LEFT, RIGHT, SHAPE, RecordBed, check_payloads, ended, recorded, sequences


@pytest.fixture
def bed(system: System, shm: Path) -> RecordBed:
    return RecordBed(system, shm)


@pytest.mark.parametrize("compression", ["none", pytest.param("zstd", marks=pytest.mark.long)])
def test_every_frame_of_two_streams_is_in_the_file_and_the_recording_ends_with_them(
    bed: RecordBed, compression: str
) -> None:
    bed.start_driver()
    recorder = bed.record("--payload", "--compression", compression)
    for producer in [bed.produce(LEFT, 300), bed.produce(RIGHT, 200)]:
        assert producer.wait() == DONE
    summary = ended(recorder)
    assert (summary["frames"], summary["payloads"], summary["complete"]) == (500, 500, True)
    recording, found = recorded(bed.file)
    assert recording.is_complete is True
    for stream, count in ((LEFT, 300), (RIGHT, 200)):
        assert sequences(found, stream) == list(range(count))
        assert check_payloads(found, stream) == count
    assert [each.log_time_ns for each in found] == sorted(each.log_time_ns for each in found)
    shown = bed.inspect(bed.file, "--strict", "--stream", str(RIGHT), "--template", "FrameDescriptor", "--seq", "7:9")
    assert [each["seq"] for each in shown[:-1]] == [7, 8]
    assert shown[-1]["complete"] is True


def test_the_formats_own_reader_counts_every_topic_as_we_do_and_finds_it_by_the_index(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record("--payload", "--control")
    for producer in [bed.produce(LEFT, 300), bed.produce(RIGHT, 200)]:
        assert producer.wait() == DONE
    ended(recorder)
    _, found = recorded(bed.file)
    ours = Counter(each.topic.name for each in found)
    with bed.file.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        header, summary = reader.get_header(), reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        theirs = {summary.channels[each].topic: n for each, n in summary.statistics.channel_message_counts.items() if n}
        # By the index alone: a reader that can seek does not go through the data.
        by_index = Counter(channel.topic for _, channel, _ in reader.iter_messages())
        payloads = [message.sequence for _, _, message in reader.iter_messages(topics=f"stream/{LEFT}/payload")]
        schema, channel, _ = next(reader.iter_messages(topics=f"stream/{LEFT}/FrameDescriptor"))
        about = {metadata.name for metadata in reader.iter_metadata()}
    assert header.profile == "framegate"
    assert ours == theirs == by_index
    assert {f"stream/{each}/payload" for each in (LEFT, RIGHT)} <= ours.keys()
    assert payloads == list(range(300))
    assert summary.statistics.message_count == len(found)
    assert summary.statistics.chunk_count == len(summary.chunk_indexes) > 0
    assert all(index.message_index_length > 0 for index in summary.chunk_indexes)
    assert about == {"framegate/recording", "framegate/loss"}
    assert channel.message_encoding == "sbe"
    assert schema is not None
    assert schema.encoding == "sbe-xml"
    assert b"FrameDescriptor" in schema.data


def test_a_signal_ends_a_recording_in_good_order(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record(streams=str(LEFT))
    producer = bed.produce(LEFT, 100, end=False)
    assert producer.wait() == DONE
    recorder.send(signal.SIGTERM)
    summary = ended(recorder)
    assert (summary["frames"], summary["payloads"], summary["is_indexed"]) == (100, 0, True)
    recording, found = recorded(bed.file)
    assert sequences(found, LEFT) == list(range(100))
    assert recording.is_complete is True


def test_as_many_frames_as_were_wanted_are_recorded(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record("--frames", "40", "--payload", streams=str(LEFT))
    bed.produce(LEFT, 300)
    assert ended(recorder)["frames"] == 40
    assert sequences(recorded(bed.file)[1], LEFT) == list(range(40))


def test_a_killed_recording_is_readable_to_its_last_whole_chunk_and_can_be_made_whole(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record("--payload", streams=str(LEFT))
    bed.produce(LEFT, 100_000, "--rate", "2000", end=False)
    bed.system.until(lambda: bed.file.stat().st_size > 1_000_000, "a megabyte recorded")
    recorder.send(signal.SIGKILL)
    assert recorder.wait() == -signal.SIGKILL
    recording, found = recorded(bed.file)
    assert recording.is_complete is False
    frames = sequences(found, LEFT)
    assert len(frames) > 300
    assert frames == list(range(len(frames)))
    assert check_payloads(found, LEFT) == len(frames)
    shown = bed.inspect(bed.file, "--limit", "1000000")
    assert shown[-1]["complete"] is False
    strict = bed.system.framegate("inspect", str(bed.file), "--strict")
    assert strict.wait() == FAILED
    whole = bed.shm / "whole.mcap"
    recovery = bed.system.framegate("record", str(whole), "--recover", str(bed.file), "--json")
    assert ended(recovery)["messages"] == len(found)
    again, recovered = recorded(whole)
    assert [each.data for each in recovered] == [each.data for each in found]
    assert again.damage is None
    assert again.loss is not None
    assert again.loss["streams"][str(LEFT)]["frames"] == len(frames)
    with whole.open("rb") as stream:
        mcap_summary = make_reader(stream, validate_crcs=True).get_summary()
    assert mcap_summary is not None
    assert mcap_summary.chunk_indexes


def test_what_was_overwritten_before_it_was_read_adds_up_with_what_was_sent(bed: RecordBed) -> None:
    """A recorder that stands still is lapped: descriptors wait in the log, slots do not."""
    bed.start_driver(slots=16)
    recorder = bed.record("--payload", streams=str(LEFT))
    producer = bed.produce(LEFT, 3000, "--rate", "2000", end=False)
    bed.system.until(lambda: bed.file.stat().st_size > 50_000, "something recorded")
    bed.system.suspend(recorder.pid)
    assert producer.wait() == DONE
    recorder.send(signal.SIGCONT)
    bed.system.until(lambda: 2999 in sequences(recorded(bed.file)[1], LEFT), "the last frame recorded")
    recorder.send(signal.SIGINT)
    summary = ended(recorder)
    (stream,) = summary["streams"]
    (epoch,) = stream["epochs"]
    assert epoch["first"] == 0
    assert epoch["last"] == 2999
    assert stream["frames"] + sum(epoch["lost_frames"].values()) == 3000
    assert stream["payloads"] + sum(epoch["lost_payloads"].values()) == stream["frames"]
    assert epoch["lost_payloads"]["overwritten"] > 0
    assert summary["complete"] is False
    _, found = recorded(bed.file)
    assert check_payloads(found, LEFT) == stream["payloads"]
    told = [json.loads(each.data) for each in found if each.topic.name == "framegate/loss"]
    missing = {seq for loss in told if loss["part"] == "payload" for seq in range(loss["first"], loss["last"] + 1)}
    there = {each.sequence for each in found if each.is_payload}
    assert missing == set(sequences(found, LEFT)) - there


def test_a_stream_that_begins_again_is_recorded_in_both_its_epochs(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record("--payload", "--through-ends", streams=str(LEFT))
    for _ in range(2):
        assert bed.produce(LEFT, 50).wait() == DONE
    _wait_for(bed, lambda found: sequences(found, LEFT).count(49) == 2)
    recorder.send(signal.SIGINT)
    summary = ended(recorder)
    (stream,) = summary["streams"]
    assert [(epoch["first"], epoch["last"], epoch["frames"]) for epoch in stream["epochs"]] == [(0, 49, 50)] * 2
    assert check_payloads(recorded(bed.file)[1], LEFT) == stream["payloads"]


@pytest.mark.parametrize("words", [("--payload",), ()])
@pytest.mark.parametrize("ahead", [1, 1 << 40, (1 << 64) - 1])
def test_a_descriptor_of_a_frame_that_nobody_published_is_not_recorded_and_costs_no_frame(
    bed: RecordBed, words: tuple[str, ...], ahead: int
) -> None:
    bed.start_driver()
    recorder = bed.record(*words, streams=str(LEFT))
    producer = bed.produce(LEFT, 1500)
    liar = Liar(bed.pool)
    try:
        _wait_for(bed, lambda found: 50 in sequences(found, LEFT))
        epoch = newest_epoch(bed.pool, LEFT)
        for each in (epoch, epoch + 1, epoch - 1, (1 << 64) - 2):
            liar.say(LEFT, each, min(ahead + 100_000, (1 << 64) - 1))
        assert producer.wait() == DONE
        summary = ended(recorder)
    finally:
        liar.close()
    assert (summary["frames"], summary["complete"], summary["false_descriptors"]) == (1500, True, 1)
    (stream,) = summary["streams"]
    assert stream["false_descriptors"] == 1
    (found,) = stream["epochs"]
    assert (found["epoch"], found["first"], found["last"], found["frames"]) == (epoch, 0, 1499, 1500)
    assert sequences(recorded(bed.file)[1], LEFT) == list(range(1500))


@pytest.mark.parametrize("words", [("--payload", "--through-ends"), ("--through-ends",)])
def test_producers_that_wait_for_nobody_are_recorded_from_their_first_frames_on(
    bed: RecordBed, words: tuple[str, ...]
) -> None:
    """Descriptors of an epoch that is not mapped yet wait until it is."""
    bed.start_driver()
    recorder = bed.record(*words, streams=str(LEFT))
    for _ in range(5):
        told = ("--count", "100", "--shape", SHAPE, "--max-rate", "--json", "--end")
        assert bed.pool.produce(*told, stream=LEFT).wait() == DONE
    _wait_for(bed, lambda found: sequences(found, LEFT).count(99) == 5)
    recorder.send(signal.SIGINT)
    summary = ended(recorder)
    assert (summary["frames"], summary["complete"]) == (500, True)
    assert [(each["first"], each["last"]) for each in summary["streams"][0]["epochs"]] == [(0, 99)] * 5


def test_a_file_system_without_room_ends_the_recording_with_what_fits_indexed(bed: RecordBed) -> None:
    bed.start_driver()
    words = ["record", str(bed.file), "--streams", str(LEFT), *bed.pool.places, "--json", "--payload"]
    limited = f"ulimit -f 16384; exec {sys.executable} -m framegate {' '.join(words)}"
    recorder = bed.system.start("bash", "-c", limited)
    recorder.says(event="ready")
    bed.produce(LEFT, 100_000, "--max-rate", end=False)
    assert recorder.wait() == ENVIRONMENT, recorder
    assert recorder.says(event="error")["code"] == 921
    summary = recorder.says(event="summary")
    assert (summary["no_room"], summary["is_indexed"], summary["complete"]) == (True, True, False)
    assert bed.file.stat().st_size <= 16 << 20
    recording, found = recorded(bed.file)
    assert recording.damage is None
    assert recording.is_complete is False
    assert len(sequences(found, LEFT)) == summary["frames"] > 0
    assert check_payloads(found, LEFT) == summary["payloads"]


def test_everything_that_a_stream_says_is_recorded_where_that_is_wanted(bed: RecordBed) -> None:
    bed.start_driver()
    recorder = bed.record("--control", streams=str(LEFT))
    with framegate.connect(bed.pool.aeron_dir, bed.pool.base_dir) as client:
        camera = client.producer(LEFT, shape=(32, 32), dtype="uint8")
        assert camera.wait_consumers(1, 30)
        camera.describe({"lens": "wide"})
        camera.publish(np.zeros((32, 32), np.uint8))
        camera.watermark(5)
        barrier = CheckpointBarrier(
            checkpoint_id=3, epoch=1, flags=0, stream_id=LEFT, source_epoch=camera.epoch or 0, after_seq=0
        )
        camera.send_between(barrier.encode())
    assert bed.produce(LEFT, 800).wait() == DONE
    ended(recorder)
    _, found = recorded(bed.file)
    kinds = {each.topic.kind for each in found if each.topic.stream == LEFT}
    assert {"FrameDescriptor", "Watermark", "CheckpointBarrier", "ControlSignal"} <= kinds
    assert {"ShmPoolAnnounce", "ConsumerHello", "QosProducer", "QosConsumer"} <= kinds
    assert {"DataSourceAnnounce", "DataSourceMeta"} <= kinds
    assert [each.message() for each in found if each.topic.kind == "CheckpointBarrier"] == [barrier]
    assert all(each.topic.stream in (LEFT, None) for each in found)


def test_a_file_that_is_there_and_a_missing_driver_are_told_apart(bed: RecordBed) -> None:
    silent = bed.system.framegate(
        "record", str(bed.file), "--streams", "1", *bed.pool.places, "--wait-driver", "0", "--json"
    )
    assert silent.wait() == ENVIRONMENT
    assert not bed.file.exists()
    bed.file.write_bytes(b"mine")
    taken = bed.system.framegate("record", str(bed.file), "--streams", "1", *bed.pool.places, "--json")
    assert taken.wait() == WRONG_USAGE
    assert taken.says(event="error")["name"] == "RECORDING_EXISTS"
    assert bed.file.read_bytes() == b"mine"


def test_living_streams_are_inspected_and_what_is_suggested_of_a_recording_is_joined(bed: RecordBed) -> None:
    bed.start_driver()
    watcher = bed.system.framegate(
        "inspect",
        "live",
        "--aeron-dir",
        bed.pool.aeron_dir,
        "--json",
        "--template",
        "FrameDescriptor",
        "--limit",
        "100",
    )
    recorder = bed.record("--payload")
    producers = [bed.produce(LEFT, 300), bed.produce(RIGHT, 300)]
    assert [producer.wait() for producer in producers] == [DONE, DONE]
    ended(recorder)
    assert watcher.wait() == DONE
    assert {each["stream"] for each in watcher.objects()[:-1]} <= {LEFT, RIGHT}
    assert watcher.objects()[-1] == {"event": "summary", "messages": 100}
    suggested = bed.system.framegate("inspect", str(bed.file), "--suggest")
    assert suggested.wait() == DONE
    config = bed.shm / "join.toml"
    journal = str(bed.shm / "joined")
    config.write_text(suggested.stdout.replace("out/joined", journal))
    join = bed.system.framegate("join", "--config", str(config), *bed.pool.places, "--json")
    # Rows are as many as frames, less those by which the recorded producers were apart when they began.
    for producer in [bed.produce(LEFT, 600), bed.produce(RIGHT, 600)]:
        assert producer.wait() == DONE
    assert ended(join)["rows"] > 100


def _wait_for(bed: RecordBed, condition: Any) -> None:
    def look() -> bool:
        recording = Recording(io.BytesIO(bed.file.read_bytes()))
        return bool(condition(list(recording)))

    bed.system.until(look, "recorded")
