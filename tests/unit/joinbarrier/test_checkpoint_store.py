# SPDX-License-Identifier: Apache-2.0
"""The store: a checkpoint is there whole or not at all, and whatever is wrong with one is found."""

from __future__ import annotations

import json
import logging
import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from framegate.joinbarrier.checkpoint import inflight
from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.manifest import Manifest, decode
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import ArrowFiles, Content, Disk, LocalFiles, StoreFiles
from framegate.schema.console.quantities import byte_size, local_time
from framegate.schema.errors import (
    CheckpointDamaged,
    CheckpointExists,
    CheckpointMissing,
    CheckpointNewer,
    InvalidValue,
    StoreFailed,
)
from framegate.spec.checkpoint import inflight as reference_inflight

from framegate.cli import run

STATE: Final = b"cursors and maps"
RECORDS: Final = [b"frame and payload", b"", b"another"]


def commit(store: CheckpointStore, checkpoint_id: int, *, inflight: bool = True) -> Manifest:
    """A checkpoint of one operator whose input 1 was slow."""
    state = store.write_state(checkpoint_id, "join", STATE)
    late = [store.write_inflight(checkpoint_id, "join", 1, RECORDS, [{"seq": 7, "cause": "overwritten"}])]
    manifest = Manifest(
        checkpoint_id=checkpoint_id,
        checkpoint_uuid=str(CheckpointId.at(1_700_000_000_000_000_000)),
        epoch=3,
        pipeline="default",
        is_unaligned=inflight,
        was_threshold_triggered=inflight,
        created_ns=1_700_000_000_000_000_000,
        operators=(state,),
        inflight_data=tuple(late) if inflight else (),
    )
    store.commit(manifest)
    return manifest


@pytest.fixture(params=["local", "arrow"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointStore:
    if request.param == "local":
        return CheckpointStore(tmp_path / "checkpoints")
    from pyarrow import fs

    return CheckpointStore(tmp_path / "checkpoints", ArrowFiles(fs.LocalFileSystem(), str(tmp_path / "checkpoints")))


def test_unaligned_checkpoint_save_and_load(store: CheckpointStore) -> None:
    manifest = commit(store, 12)
    assert store.manifest(12) == manifest
    restored = store.restore(store.latest_whole(), "join")
    assert (restored.state, restored.inflight, restored.skipped) == (STATE, {1: RECORDS}, ())
    assert restored.manifest.inflight_data[0].lost == ({"seq": 7, "cause": "overwritten"},)


def test_the_layout_and_the_fields_are_those_that_others_rely_on(tmp_path: Path) -> None:
    commit(CheckpointStore(tmp_path), 12)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["12/manifest.json", "12/operators/join/inflight_1.buf", "12/operators/join/state.bin"]
    found = json.loads((tmp_path / files[0]).read_bytes())
    assert {"checkpoint_id", "checkpoint_uuid", "epoch", "pipeline", "is_unaligned", "was_threshold_triggered",
            "created_ns", "size_bytes", "state_bytes", "operators", "inflight_data"} <= set(found)  # fmt: skip
    assert {"operator_id", "input_id", "path", "event_count", "bytes", "crc32c"} <= set(found["inflight_data"][0])
    assert uuid.UUID(found["checkpoint_uuid"]).version == 7
    raw = (tmp_path / files[1]).read_bytes()
    assert raw.startswith(bytes.fromhex("01000000 0300000000000000 11000000") + b"frame and payload")
    assert found["size_bytes"] == len(STATE) + len(raw)


def test_what_overtaking_cost_is_told(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    assert commit(store, 1, inflight=False).size_increase == 0
    manifest = commit(store, 2)
    assert manifest.size_increase == manifest.inflight_data[0].bytes / len(STATE)


def test_without_its_manifest_there_is_no_checkpoint(store: CheckpointStore) -> None:
    commit(store, 1)
    store.write_state(2, "join", STATE)
    assert store.ids() == [1]
    assert store.latest_whole().checkpoint_id == 1
    with pytest.raises(CheckpointMissing, match="checkpoint_id=2"):
        store.manifest(2)


def test_an_id_is_committed_once(store: CheckpointStore) -> None:
    manifest = commit(store, 1)
    with pytest.raises(CheckpointExists):
        store.commit(manifest)


def test_pruning_keeps_the_newest_and_what_may_be_under_way(store: CheckpointStore) -> None:
    for checkpoint_id in (1, 3, 9, 10):
        commit(store, checkpoint_id)
    for attempt in (2, 8, 11):
        store.write_state(attempt, "join", STATE)
    assert store.prune(keep=2) == [1, 2, 3, 8]
    assert store.ids() == [9, 10]
    assert store.prune(keep=2) == []
    store.write_state(7, "join", STATE)
    assert store.prune(keep=2) == [7]
    with pytest.raises(InvalidValue, match="field=keep"):
        store.prune(keep=0)


# --- B18: the order of what reaches the disk; test_checkpoint_power_loss.py loses the power at each step ---


class _Logged(Disk):
    """A disk that notes every step."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, Path, Any]] = []

    def make_folder(self, folder: Path) -> None:
        super().make_folder(folder)
        self.steps.append(("folder", folder, None))

    def write(self, path: Path, content: bytes | Content) -> None:
        super().write(path, content)
        self.steps.append(("write", path, bytes(content)))

    def rename(self, path: Path, target: Path) -> None:
        super().rename(path, target)
        self.steps.append(("rename", path, target))

    def remove(self, path: Path) -> None:
        super().remove(path)
        self.steps.append(("remove", path, None))

    def sync_folder(self, folder: Path) -> None:
        super().sync_folder(folder)
        self.steps.append(("sync", folder, None))


class _ManifestFirst(LocalFiles):
    """The original reading: a manifest is a file like the others."""

    def publish(self, path: str, content: bytes) -> None:
        self.write(path, content)


def _b18(files: Callable[[Path, Disk], LocalFiles], root: Path) -> None:
    disk = _Logged()
    commit(CheckpointStore(root, files(root, disk)), 1)
    steps = [(step, path.name.partition(".json.")[0]) for step, path, _ in disk.steps if step != "folder"]
    state, inflight = ("write", "state.bin"), ("write", "inflight_1.buf")
    assert steps.index(state) < steps.index(inflight) < steps.index(("write", "manifest"))
    assert steps[-3:] == [("write", "manifest"), ("rename", "manifest"), ("sync", "1")]
    assert not list(root.rglob("*.tmp"))


def test_b18_files_last_before_the_manifest_is_renamed(tmp_path: Path) -> None:
    _b18(LocalFiles, tmp_path)


def test_b18_fails_where_the_manifest_is_written_like_any_file(tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ValueError)):
        _b18(_ManifestFirst, tmp_path)


def test_pruning_removes_the_manifest_before_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = LocalFiles(tmp_path)
    store = CheckpointStore(tmp_path, files)
    commit(store, 1)
    commit(store, 2)
    has_manifest: list[bool] = []
    real = files.remove_folder

    def remove_folder(path: str) -> None:
        has_manifest.append((tmp_path / path / "manifest.json").exists())
        real(path)

    monkeypatch.setattr(files, "remove_folder", remove_folder)
    store.prune(keep=1)
    assert has_manifest == [False]


class PrunedWhileRead(LocalFiles):
    """A store whose next checkpoint comes, and prunes the others, between two reads of another process."""

    def __init__(self, root: Path, before: str) -> None:
        super().__init__(root)
        self._before = before
        self.prunes = 0

    def read(self, path: str) -> bytes:
        if path.endswith(self._before) and not self.prunes:
            self.prunes += 1
            store = CheckpointStore(self.root)
            commit(store, store.ids()[-1] + 1)
            store.prune(keep=1)
        return super().read(path)


@pytest.mark.parametrize("before", ["manifest.json", "state.bin", "inflight_1.buf"])
def test_a_checkpoint_that_is_pruned_while_it_is_read_is_no_damage(tmp_path: Path, before: str) -> None:
    for checkpoint_id in (1, 2):
        commit(CheckpointStore(tmp_path), checkpoint_id)
    files = PrunedWhileRead(tmp_path, before)
    assert CheckpointStore(tmp_path, files).latest_whole().checkpoint_id == 3
    assert files.prunes == 1
    with pytest.raises(CheckpointMissing):
        list(CheckpointStore(tmp_path, PrunedWhileRead(tmp_path, before)).problems(3))


@pytest.mark.parametrize(
    ("command", "before"),
    [("ls", "manifest.json"), ("verify", "manifest.json"), ("verify", "state.bin"), ("verify", "inflight_1.buf")],
)
def test_ls_and_verify_see_the_newest_where_all_others_are_pruned_while_they_read(
    tmp_path: Path, command: str, before: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for checkpoint_id in (1, 2):
        commit(CheckpointStore(tmp_path), checkpoint_id)
    files = PrunedWhileRead(tmp_path, before)
    monkeypatch.setattr("framegate.joinbarrier.checkpoint.store.store_files", lambda _place: files)
    assert run(["checkpoint", command, str(tmp_path), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert files.prunes == 1
    if command == "ls":
        assert [(event["checkpoint_id"], event["mode"]) for event in events] == [(3, "unaligned, by threshold")]
    else:
        assert events == [{"event": "summary", "checkpoints": 1, "damaged": 0}]


# --- B17: damage ----------------------------------------------------------------------------------------


def _damage(root: Path, path: str) -> None:
    target = root / path
    data = bytearray(target.read_bytes())
    data[-1] ^= 0x40
    target.write_bytes(data)


def _b17(root: Path, *, passes_over: bool) -> None:
    store = CheckpointStore(root)
    commit(store, 1)
    commit(store, 2)
    _damage(root, "2/operators/join/inflight_1.buf")
    found = store.latest_whole() if passes_over else store.manifest(store.ids()[-1])
    restored = store.restore(found, "join", skip_damaged_inflight=not passes_over)
    assert (restored.manifest.checkpoint_id, restored.inflight) == (1, {1: RECORDS})


def test_b17_recovery_falls_back_to_the_last_whole_one_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        _b17(tmp_path, passes_over=True)
    assert "checkpoint 2 is damaged and passed over" in caplog.text


def test_b17_the_original_reading_loses_events(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        _b17(tmp_path, passes_over=False)


def test_skipping_damaged_events_must_be_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = CheckpointStore(tmp_path)
    manifest = commit(store, 1)
    _damage(tmp_path, "1/operators/join/inflight_1.buf")
    with pytest.raises(CheckpointDamaged, match="check sum"):
        store.restore(manifest, "join")
    restored = store.restore(manifest, "join", skip_damaged_inflight=True)
    assert (restored.state, restored.inflight, restored.skipped) == (STATE, {}, (1,))
    assert "input 1 are left out" in caplog.text


@pytest.mark.parametrize("path", ["operators/join/state.bin", "operators/join/inflight_1.buf", "manifest.json"])
def test_every_cut_and_every_flipped_byte_of_every_file_is_found(tmp_path: Path, path: str) -> None:
    store = CheckpointStore(tmp_path)
    commit(store, 1)
    target = tmp_path / "1" / path
    whole = target.read_bytes()
    for at in range(len(whole)):
        if path == "manifest.json" and whole[at : at + 1].isspace():
            continue
        for wrong in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :]):
            target.write_bytes(wrong)
            # The manifest's last brace and newline apart, nothing can be missing.
            if path == "manifest.json" and wrong == whole[:-1]:
                continue
            assert list(store.problems(1)), (path, at)


def test_a_missing_file_and_a_missing_operator_are_told_apart(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    manifest = commit(store, 1)
    with pytest.raises(CheckpointMissing, match="operator_id=other"):
        store.restore(manifest, "other")
    (tmp_path / "1/operators/join/state.bin").unlink()
    with pytest.raises(CheckpointDamaged, match="missing"):
        store.restore(manifest, "join")


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "operators//x", ".", ""])
def test_a_manifest_cannot_lead_elsewhere(tmp_path: Path, path: str) -> None:
    store = CheckpointStore(tmp_path)
    found = commit(store, 1).as_json()
    found["operators"][0]["path"] = path
    with pytest.raises(CheckpointDamaged):
        decode(json.dumps(found).encode(), where="here")


@pytest.mark.parametrize("junk", [b"", b"{}", b"[]", b"null", b"\xff", b'{"format": "1"}', b"[" * 100_000])
def test_what_is_no_manifest_is_damaged(junk: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        decode(junk, where="here")


def test_a_later_format_is_not_guessed_at(tmp_path: Path) -> None:
    found = {**commit(CheckpointStore(tmp_path), 1).as_json(), "format": 2}
    with pytest.raises(CheckpointNewer):
        decode(json.dumps(found).encode(), where="here")


def test_another_checkpoints_manifest_is_refused(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    commit(store, 1)
    (tmp_path / "1").rename(tmp_path / "2")
    with pytest.raises(CheckpointDamaged, match="found_id=1"):
        store.manifest(2)


@pytest.mark.parametrize("operator_id", ["", "..", "a/b", ".hidden", "a" * 129])
def test_an_operator_is_named_like_a_file(tmp_path: Path, operator_id: str) -> None:
    with pytest.raises(InvalidValue, match="field=operator_id"):
        CheckpointStore(tmp_path).write_state(1, operator_id, b"")


def test_a_full_disk_is_told_and_leaves_no_checkpoint(tmp_path: Path) -> None:
    class Full(LocalFiles):
        def write(self, path: str, content: bytes | Content) -> None:
            raise OSError(28, "No space left on device")

    files: StoreFiles = Full(tmp_path)
    with pytest.raises(StoreFailed, match="No space left"):
        commit(CheckpointStore(tmp_path, files), 1)
    assert CheckpointStore(tmp_path).ids() == []


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    store, secret = CheckpointStore(tmp_path / "store"), tmp_path / "secret"
    manifest = commit(store, 1)
    secret.write_bytes(STATE)
    state = tmp_path / "store/1/operators/join/state.bin"
    state.unlink()
    state.symlink_to(secret)
    with pytest.raises(CheckpointDamaged, match="symbolic links"):
        store.restore(manifest, "join")


def _folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _file_in_its_folders_place(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.write_bytes(b"")


@pytest.mark.parametrize("put", [_folder_in_its_place, _file_in_its_folders_place])
@pytest.mark.parametrize("path", ["operators/join/state.bin", "manifest.json"])
def test_what_cannot_be_a_file_is_damage_and_an_older_checkpoint_is_found(
    tmp_path: Path, put: Callable[[Path], None], path: str
) -> None:
    store = CheckpointStore(tmp_path)
    commit(store, 1)
    commit(store, 2)
    put(tmp_path / "2" / path)
    assert store.latest_whole().checkpoint_id == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("pipeline", "\x1b[31mred\n"), ("pipeline", "\ud800"), ("created_ns", 10**300), ("epoch", 2**48),
     ("operators", [{"operator_id": "join", "path": "operators/\ud800", "bytes": 1, "crc32c": 1}])],
    ids=["escape", "surrogate", "huge", "epoch", "path"],
)  # fmt: skip
def test_a_manifest_says_nothing_that_a_terminal_or_a_path_cannot_take(
    tmp_path: Path, field: str, value: object
) -> None:
    found = {**commit(CheckpointStore(tmp_path), 1).as_json(), field: value}
    with pytest.raises(CheckpointDamaged):
        decode(json.dumps(found).encode(), where="here")


def test_a_store_that_may_not_be_read_is_no_damage(tmp_path: Path) -> None:
    class Locked(LocalFiles):
        def read(self, path: str) -> bytes:
            raise PermissionError(13, "Permission denied")

    commit(CheckpointStore(tmp_path), 1)
    with pytest.raises(StoreFailed, match="Permission denied"):
        CheckpointStore(tmp_path, Locked(tmp_path)).latest_whole()


# --- In-flight files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [[], [b""], RECORDS, [bytes(range(256)) * 40]], ids=len)
def test_both_implementations_write_and_read_the_same(records: list[bytes]) -> None:
    data = reference_inflight.write_records(7, records)
    assert inflight.write_records(7, records) == data
    assert inflight.read_records(data) == reference_inflight.read_records(data) == (7, records)


def test_both_implementations_find_the_same_damage() -> None:
    data = inflight.write_records(7, [b"ab", b"", b"frame"])
    wrong = [data[:cut] for cut in range(len(data))] + [data + b"x"]
    wrong += [data[:at] + bytes([value]) + data[at + 1 :] for at in range(len(data)) for value in (0, 1, 0x7F, 0xFF)]
    for each in wrong:
        assert _outcome(inflight.read_records, each) == _outcome(reference_inflight.read_records, each)


def _outcome(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except CheckpointDamaged as damaged:
        return damaged.message, {k: v for k, v in damaged.facts.items() if k != "have_bytes"}


# --- The command line -----------------------------------------------------------------------------------


def test_ls_show_and_verify_say_what_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, place = CheckpointStore(tmp_path), str(tmp_path)
    commit(store, 1, inflight=False)
    commit(store, 2)
    assert run(["checkpoint", "ls", place, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["checkpoint_id"], row["mode"]) for row in rows] == [(1, "aligned"), (2, "unaligned, by threshold")]
    assert rows[1]["inflight_events"] == 3
    assert run(["checkpoint", "show", place, "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inflight_data"][0]["event_count"] == 3
    for command in (["ls", place], ["show", place, "2"]):
        assert run(["checkpoint", *command]) == 0
        shown = capsys.readouterr().out
        assert "inflight" in shown
        # People get times and sizes, programs the nanoseconds and bytes.
        assert local_time(rows[1]["created_ns"]) in shown
        assert byte_size(rows[1]["size_bytes"]) in shown
        assert str(rows[1]["created_ns"]) not in shown
    assert run(["checkpoint", "verify", place]) == 0
    assert capsys.readouterr().out == "checkpoints=2\n"


def test_show_says_where_an_operator_cut_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = CheckpointStore(tmp_path)
    manifest = commit(store, 1)
    store.drop(1)
    places = ({"stream": 10_002, "epoch": 7, "last_seq": 41}, {"stream": 10_003, "epoch": None, "last_seq": None})
    state = store.write_state(1, "join", STATE)
    store.commit(replace(manifest, operators=(replace(state, ingress=places),), inflight_data=()))
    assert run(["checkpoint", "show", str(tmp_path), "1"]) == 0
    assert "10002 behind 7/41, 10003 behind nothing" in capsys.readouterr().out


def test_verify_names_everything_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, place = CheckpointStore(tmp_path), str(tmp_path)
    commit(store, 1)
    commit(store, 2)
    _damage(tmp_path, "1/operators/join/state.bin")
    _damage(tmp_path, "1/operators/join/inflight_1.buf")
    assert run(["checkpoint", "verify", place]) == 1
    out = capsys.readouterr().out
    assert "state.bin" in out
    assert "inflight_1.buf" in out
    assert run(["checkpoint", "verify", place, "2"]) == 0
    (tmp_path / "2/manifest.json").write_text("{")
    assert run(["checkpoint", "ls", place]) == 0
    assert "checkpoint_damaged" in capsys.readouterr().out


def test_what_there_is_not_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["checkpoint", "show", str(tmp_path), "1"]) == 1
    assert "FG-610" in capsys.readouterr().err
    assert run(["checkpoint", "verify", str(tmp_path)]) == 1
    assert run(["checkpoint", "ls", str(tmp_path)]) == 0
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        for command in (["ls", str(place)], ["show", str(place), "1"], ["verify", str(place)]):
            capsys.readouterr()
            assert run(["checkpoint", *command]) == 1
            assert "there is no such directory" in capsys.readouterr().err
