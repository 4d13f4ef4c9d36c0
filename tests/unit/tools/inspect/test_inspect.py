# SPDX-License-Identifier: Apache-2.0
"""`framegate inspect` shows whatever it is given, says what is missing, and never fails in a way of its own."""

from __future__ import annotations

import io
import json
import os
import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from framegate.recording.reader import Recording
from framegate.schema.codec import HEADER
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE
from framegate.schema.merge import SequenceMergeMapRequest
from framegate.tools.inspect.incomplete import why_incomplete

from framegate.cli import run
from tests.unit.recording.dump_world import behind_lengths, parts, write_folder
from tests.unit.recording.foreign_world import camera_file
from tests.unit.recording.recording_world import LEFT, RIGHT, Made, descriptor, frames, slot_header
from tests.unit.recording.replay_frames import numbered
from tests.unit.recording.versions import NEWER, UNKNOWN, of_a_version_that_lacks_fields, of_an_unknown_schema
from tests.unit.tools.inspect.seeds import RING, SEEDS

IS_LONG = os.environ.get("FRAMEGATE_TEST_LANE") == "long"


class Inspected:
    """Runs the command on bytes."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = folder / "in.bin"
        self._capsys = capsys
        self.code = DONE
        self.stderr = ""

    def lines(self, data: bytes, *words: str) -> list[str]:
        self.file.write_bytes(data)
        self.code = run(["inspect", str(self.file), *words])
        captured = self._capsys.readouterr()
        self.stderr = captured.err
        return captured.out.splitlines()

    def objects(self, data: bytes, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines(data, "--json", *words)]


@pytest.fixture
def inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inspected:
    return Inspected(tmp_path, capsys)


def test_a_recording_has_a_line_for_each_message(inspect: Inspected) -> None:
    lines = inspect.lines(Made().file(frames(3)))
    assert inspect.code == DONE
    assert len(lines) == 9
    assert "10001 FrameDescriptor seq=2 epoch=77 timestamp_ns=2000" in lines[6]
    assert "10001 payload seq=2" in lines[8]


def test_filters_by_stream_template_and_sequence_go_together(inspect: Inspected) -> None:
    data = Made().file([*frames(10), *frames(10, stream=RIGHT)])
    found = inspect.objects(data, "--stream", str(RIGHT), "--template", "framedescriptor", "--seq", "3:5")
    assert [(each["stream"], each["seq"]) for each in found[:-1]] == [(RIGHT, 3), (RIGHT, 4)]
    assert found[-1]["event"] == "summary"
    by_number = inspect.objects(data, "--template", "4", "--seq", "9")
    assert [(each["stream"], each["seq"]) for each in by_number[:-1]] == [(LEFT, 9), (RIGHT, 9)]


def test_an_incomplete_recording_says_so_and_fails_only_if_that_is_wanted(inspect: Inspected) -> None:
    epochs = [{"epoch": 77, "lost_frames": {"queue_full": 4, "not_announced": 2}, "lost_payloads": {"overwritten": 1}}]
    data = Made(complete=False, streams={LEFT: {"epochs": epochs}}).file(frames(1))
    lines = inspect.lines(data)
    assert inspect.code == DONE
    assert lines[-2:] == [
        "INCOMPLETE: stream 10001: 4 frames queue_full",
        "INCOMPLETE: stream 10001: 1 payloads overwritten",
    ]
    inspect.lines(data, "--strict")
    assert inspect.code == FAILED
    assert inspect.stderr.startswith("[FG-805 RECORDING_INCOMPLETE]")
    whole = inspect.objects(Made().file(frames(1)), "--strict")
    assert inspect.code == DONE
    assert whole[-1]["complete"] is True


def test_a_cut_recording_is_shown_as_far_as_it_goes(inspect: Inspected) -> None:
    whole = Made().file(frames(100))
    lines = inspect.lines(whole[: len(whole) // 2])
    assert inspect.code == DONE
    assert len(lines) > 10
    assert lines[-1].startswith("INCOMPLETE: ")


def test_a_single_message_a_slot_a_superblock_and_a_ring_are_known_by_their_bytes(inspect: Inspected) -> None:
    request = SequenceMergeMapRequest(out_stream_id=20_001, epoch=9)
    assert inspect.lines(request.encode()) == ["20001 SequenceMergeMapRequest epoch=9 out_stream_id=20001"]
    slot = slot_header(5, 64, 123).encode_body()
    (seen, _summary) = inspect.objects(slot)
    assert (seen["kind"], seen["seq"], seen["timestamp_ns"]) == ("SlotHeader", 5, 123)
    assert inspect.objects(RING)[0]["kind"] == "ShmRegionSuperblock"
    ring = RING + slot + bytes(256) + slot_header(7, 64, 1).encode_body() + bytes(256)
    assert [each.get("seq") for each in inspect.objects(ring)] == [None, 5, 7, None]


def test_messages_behind_their_lengths_are_read_one_by_one(inspect: Inspected) -> None:
    dump = b"".join(struct.pack("<I", 48) + descriptor(seq).encode() for seq in range(3))
    assert [each.get("seq") for each in inspect.objects(dump)] == [0, 1, 2, None]


def test_a_dump_shows_payloads_and_what_is_missing_at_its_end(inspect: Inspected, tmp_path: Path) -> None:
    whole = [message for seq in range(2) for message in parts(seq, numbered(seq))]
    cut = behind_lengths(whole)[:-1]
    assert inspect.lines(cut)[:3] == inspect.lines(behind_lengths(whole))[:3]
    found = inspect.objects(cut)
    assert [(each.get("kind"), each.get("stream"), each.get("seq")) for each in found[:-1]] == [
        ("FrameDescriptor", LEFT, 0),
        ("SlotHeader", LEFT, 0),
        ("payload", LEFT, 0),
        ("FrameDescriptor", LEFT, 1),
        ("SlotHeader", LEFT, 1),
    ]
    assert (found[-1]["complete"], found[-1]["library"]) == (False, "raw messages")
    assert inspect.lines(cut)[-1].startswith("INCOMPLETE: the last message is not whole")
    inspect.lines(cut, "--strict")
    assert inspect.code == FAILED


def test_a_folder_of_messages_is_shown_file_by_file(
    inspect: Inspected, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(tmp_path / "dump", [descriptor(seq).encode() for seq in range(12)] + [b"x"])
    assert run(["inspect", str(tmp_path / "dump"), "--json"]) == DONE
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each.get("seq") for each in found[:-2]] == [*range(12)]
    assert found[-2]["kind"] == "malformed"


def test_unknown_schemas_and_newer_versions_are_shown_as_such(inspect: Inspected) -> None:
    (unknown, _) = inspect.objects(HEADER.pack(4, 3, 4711, 1) + b"abcd")
    assert unknown["kind"] == "unknown"
    assert unknown["fields"] == {"schema": 4711, "template": 3, "version": 1, "block_length": 4}
    newer = HEADER.pack(12, 2, 903, 2) + bytes(12)
    (seen, _) = inspect.objects(newer)
    assert (seen["kind"], seen["fields"]["version"]) == ("unknown", 2)
    (cut, _) = inspect.objects(descriptor(1).encode()[:20])
    assert cut["kind"] == "malformed"
    assert inspect.code == DONE


def test_a_recording_of_another_version_says_so_wherever_it_is_looked_at(inspect: Inspected) -> None:
    data = of_a_version_that_lacks_fields(3)
    shown = inspect.objects(data, "--stream", str(LEFT), "--template", "malformed")
    # Descriptors and slot headers.
    assert [each["fields"]["version"] for each in shown[:-1]] == [NEWER] * 6
    assert all("WRONG_BLOCK_LENGTH" in each["problem"] for each in shown[:-1])
    (measured, _) = inspect.objects(data, "--stats")
    assert (measured["unread"], list(measured["streams"])) == (6, [str(RIGHT)])
    assert "WRONG_BLOCK_LENGTH" in measured["first_problem"]
    assert inspect.lines(data, "--stats")[-1].startswith("6 messages cannot be read, the first: [FG-104")
    assert inspect.code == DONE


def test_a_suggestion_made_of_nothing_that_can_be_read_says_why(inspect: Inspected) -> None:
    assert inspect.lines(of_an_unknown_schema(3), "--suggest", "--stream", str(LEFT)) == []
    assert inspect.code == FAILED
    assert "there is nothing to join: 6 messages cannot be read, the first: [FG-101" in inspect.stderr
    assert str(UNKNOWN) in inspect.stderr


def test_topics_of_other_programs_are_listed_and_become_streams_where_they_are_mapped(inspect: Inspected) -> None:
    images = [np.full((2, 3, 3), index, np.uint8) for index in range(20)]
    data = camera_file(images)
    (measured, _) = inspect.objects(data, "--stats")
    topic = measured["topics"]["/camera/image"]
    assert (topic["messages"], topic["rate_hz"], topic["stream"]) == (20, 1000.0, None)
    assert any("--map /camera/image=10001" in line for line in inspect.lines(data, "--stats"))
    assert inspect.lines(data, "--suggest") == []
    assert inspect.code == FAILED
    assert "--map /camera/image=10001" in inspect.stderr
    (measured, _) = inspect.objects(data, "--stats", "--map", "/camera/image=10007")
    stream = measured["streams"]["10007"]
    assert (stream["frames"], stream["rate_hz"], stream["clock"]) == (20, 1000.0, "realtime")
    assert "stream = 10007" in inspect.lines(data, "--suggest", "--map", "/camera/image=10007")
    first = inspect.lines(data, "--map", "/camera/image=10007", "-n", "1")[0]
    assert "10007" in first
    assert "seq=0" in first
    assert inspect.lines(data, "--stats", "--map", "/nothing=10007") == []
    assert inspect.code == WRONG_USAGE


@pytest.mark.parametrize("data", [b"", b"x", b"\x00" * 300, b"\xff" * 1000, b"\x89MCAP0\r\n", b"{}" * 40])
def test_what_is_nothing_is_a_numbered_error(inspect: Inspected, data: bytes) -> None:
    assert inspect.lines(data) == []
    assert inspect.code == FAILED
    assert inspect.stderr.startswith("[FG-80")


@pytest.mark.parametrize("told", ["\x1b[31m", "\x9b31m", "\n", "\x85", "\u2028", "\x7f"])
def test_text_in_a_file_does_not_drive_the_terminal(inspect: Inspected, told: str) -> None:
    lines = inspect.lines(Made(is_ours=False).file([(f"/a{told}b", b"x")]))
    assert len(lines) == 1
    assert told[0] not in lines[0]


def test_a_slot_that_is_being_written_and_one_without_a_time_are_shown_as_such(inspect: Inspected) -> None:
    (whole, _) = inspect.objects(slot_header(5, 64, 123).encode_body())
    assert "problem" not in whole
    (written, _) = inspect.objects(replace(slot_header(5, 64, 123), seq_commit=5 << 1).encode_body())
    assert (written["seq"], written["problem"]) == (5, "not committed")
    (timeless, _) = inspect.objects(slot_header(5, 64, 2**64 - 1).encode_body())
    assert "timestamp_ns" not in timeless


@pytest.mark.parametrize(
    ("rest", "word", "why"),
    [
        (b"\x02\0\0\0ab", "- malformed", "no room for the message header"),
        (b"\x30\0\0\0short", "INCOMPLETE", "bytes are there"),
        (b"\0", "INCOMPLETE", "within a length"),
    ],
    ids=["no message", "cut", "no length"],
)
def test_what_does_not_fit_at_the_end_of_a_dump_is_told(inspect: Inspected, rest: bytes, word: str, why: str) -> None:
    dump = struct.pack("<I", 48) + descriptor(1).encode()
    assert len(inspect.lines(dump)) == 1
    message, told = inspect.lines(dump + rest)
    assert message.startswith(f"{LEFT} FrameDescriptor seq=1 ")
    assert told.startswith(word)
    assert why in told


def test_messages_that_found_no_room_are_a_reason_of_their_own() -> None:
    recording = Recording(io.BytesIO())
    recording.loss = {"complete": False, "streams": {}, "lost_messages": "3"}
    assert why_incomplete(recording) == ["3 other messages found no room"]
    recording.loss["lost_messages"] = "0"
    assert why_incomplete(recording) == ["the recording was not ended in good order"]


def test_standard_input_is_a_file_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.write_bytes(Made().file(frames(2)))
    with given.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert run(["inspect", "-"]) == DONE
    assert len(capsys.readouterr().out.splitlines()) == 6


@pytest.mark.parametrize("words", [(), ("--json",), ("--stats", "--json"), ("--suggest",)], ids=" ".join)
def test_whatever_the_bytes_are_the_answer_is_lines_or_a_numbered_error(
    inspect: Inspected, words: tuple[str, ...]
) -> None:
    chance = random.Random(" ".join(words))
    for _ in range(5_000 if IS_LONG else 120):
        data = bytearray(chance.choice(SEEDS))
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 255, chance.randrange(256)])
        inspect.lines(bytes(data[: chance.randint(0, len(data))] if chance.random() < 0.2 else data), *words)
        assert inspect.code in (DONE, FAILED)
        assert "Traceback" not in inspect.stderr
        assert "[FG-999" not in inspect.stderr, data.hex()
        assert "\n" not in inspect.stderr.rstrip("\n") or inspect.stderr.startswith("[FG-")
