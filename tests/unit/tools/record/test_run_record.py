# SPDX-License-Identifier: Apache-2.0
"""What a recorder tells at its end, and how it ends when the disk ended it; over an agent that records nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framegate.schema.errors import DONE, NoRoom, RecordingExists, RecordingFailed, StreamUnknown
from framegate.shmpool.client.stream_names import StreamNames
from framegate.tools.record import run_record
from framegate.tools.record.options import RecordOptions, parse_streams

from framegate.cli import run
from tests.unit.recording.recording_world import LEFT, Made, frames

EPOCH = {"epoch": 7, "lost_frames": {"queue_full": 2}, "lost_payloads": {"overwritten": 5}}
SUMMARY: dict[str, Any] = {
    "event": "summary",
    "frames": 10,
    "payloads": 5,
    "messages": 3,
    "file_bytes": 4096,
    "seconds": 1.5,
    "complete": True,
    "no_room": False,
    "failure": None,
    "streams": [],
}


class _Options(RecordOptions):
    @contextmanager
    def connect(self) -> Iterator[Any]:  # type: ignore[override]  # nobody is asked for anything
        yield SimpleNamespace(names=SimpleNamespace(by_number=lambda: {LEFT: "left"}))


def ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **said: Any) -> int:
    """Run a recorder whose agent ends at once, and says this."""

    class Agent:
        def __init__(self, client: object, options: RecordOptions) -> None: ...
        def attach(self, stop: object) -> None: ...
        def work(self) -> bool:
            return False

        def close(self) -> dict[str, Any]:
            return {**SUMMARY, **said}

    monkeypatch.setattr(run_record, "RecordAgent", Agent)
    return run_record.run(_Options(out=tmp_path / "out.mcap", streams=(LEFT,)))


def test_a_complete_recording_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, tmp_path) == DONE
    told = f"{tmp_path}/out.mcap: 10 frames, 5 payloads, 3 other messages, 4 KiB in 1.5 s; complete\n"
    assert capsys.readouterr().out == told


def test_what_was_lost_is_told_by_stream_epoch_and_cause(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, tmp_path, complete=False, streams=[{"stream": LEFT, "epochs": [EPOCH]}]) == DONE
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.endswith("; INCOMPLETE")
    assert rest == [
        f"  stream left ({LEFT}), epoch 7: 2 frames queue_full",
        f"  stream left ({LEFT}), epoch 7: 5 payloads overwritten",
    ]


def test_a_full_disk_and_another_failure_are_errors_that_name_the_file_behind_the_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoRoom) as full:
        ended(monkeypatch, tmp_path, no_room=True, complete=False)
    assert full.value.facts["path"] == tmp_path / "out.mcap"
    assert "framegate inspect" in full.value.hint
    with pytest.raises(RecordingFailed, match="the disk is gone") as failed:
        ended(monkeypatch, tmp_path, failure="the disk is gone", complete=False)
    assert failed.value.facts["path"] == tmp_path / "out.mcap"
    assert capsys.readouterr().out.count("INCOMPLETE") == 2


def test_a_file_that_is_there_is_not_written_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "out.mcap").write_bytes(b"mine")
    with pytest.raises(RecordingExists):
        ended(monkeypatch, tmp_path)


def test_what_is_recovered_lies_beside_its_source_and_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Made().file(frames(100))
    (tmp_path / "in.mcap").write_bytes(whole[: len(whole) // 2])
    assert run(["record", "--recover", str(tmp_path / "in.mcap")]) == DONE
    out = capsys.readouterr().out
    assert out.startswith(f"{tmp_path}/in.recovered.mcap: ")
    assert (tmp_path / "in.recovered.mcap").exists()
    assert "0 chunks were damaged" in out
    assert ", 0 bytes at the end" not in out


@pytest.mark.parametrize("text", ["", "0", "1,,2", "One", "4294967295", "-1"])
def test_streams_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(StreamUnknown):
        parse_streams(text, StreamNames(tmp_path).id_of)
