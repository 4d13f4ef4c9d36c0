# SPDX-License-Identifier: Apache-2.0
"""What a coordinator keeps: ids that outlive it, manifests of files that are as they should be, a bounded store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from framegate.joinbarrier.checkpoint.coordinator.actions import (
    Allocate,
    Allocated,
    AllocationFailed,
    Finish,
    IssuedIds,
    Predecessor,
    Stored,
    StoreProblem,
)
from framegate.joinbarrier.checkpoint.coordinator.issued_ids import COORDINATOR
from framegate.joinbarrier.checkpoint.coordinator.store import CoordinatorStore
from framegate.joinbarrier.checkpoint.operator.part import OPERATOR_PART, OperatorPart
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.joinbarrier.checkpoint.store_files import Content, Disk, LocalFiles
from framegate.schema.control import AbortCause
from framegate.schema.errors import CheckpointDamaged, CheckpointNewer, StoreFailed, StoreTaken


class FailingDisk(Disk):
    """A disk that fails at one step for files of one name."""

    def __init__(self) -> None:
        self.fails_at = ("", "")

    def _fail(self, step: str, path: Path) -> None:
        if step == self.fails_at[0] and self.fails_at[1] in str(path):
            raise OSError(28, "No space left on device")

    def write(self, path: Path, content: bytes | Content) -> None:
        self._fail("write", path)
        super().write(path, content)

    def rename(self, path: Path, target: Path) -> None:
        self._fail("rename", path)
        super().rename(path, target)

    def sync_folder(self, folder: Path) -> None:
        self._fail("sync_folder", folder)
        super().sync_folder(folder)


@pytest.fixture
def disk() -> FailingDisk:
    return FailingDisk()


@pytest.fixture
def store(tmp_path: Path, disk: FailingDisk) -> CoordinatorStore:
    return opened(tmp_path, disk)


def opened(place: Path, disk: Disk | None = None, pipeline: str = "default", keep: int = 2) -> CoordinatorStore:
    return CoordinatorStore(str(place), pipeline, keep, LocalFiles(place, disk))


def operate(
    place: Path, checkpoint_id: int, operator_id: str = "join", *, has_part: bool = True, is_switched: bool = False
) -> int:
    """What an operator stores for a checkpoint; how many bytes it acknowledges."""
    store = CheckpointStore(place)
    state = store.write_state(checkpoint_id, operator_id, b"state")
    inflight = store.write_inflight(
        checkpoint_id, operator_id, 1, [b"one", b"two"], lost=[{"seq": 7, "cause": "overwritten"}]
    )
    part = OperatorPart(state=state, inflight=(inflight,), is_unaligned=True, was_threshold_triggered=is_switched)
    if has_part:
        store.write_part(checkpoint_id, part)
    return part.size_bytes


def finish(checkpoint_id: int, *acknowledged: tuple[str, int], is_asked_unaligned: bool = True) -> Finish:
    return Finish(
        checkpoint_id=checkpoint_id, epoch=3, is_asked_unaligned=is_asked_unaligned, acknowledged=acknowledged
    )


# --- ids ----------------------------------------------------------------------------------------------------


def test_ids_and_epochs_outlive_their_coordinator(tmp_path: Path, store: CoordinatorStore) -> None:
    assert store.begin_epoch() == (IssuedIds(0, 1), None)
    assert store.allocate(Allocate(IssuedIds(1, 1))) == Allocated(1)
    assert opened(tmp_path).begin_epoch() == (IssuedIds(1, 2), Predecessor(1, is_complete=False))
    size = operate(tmp_path, 1)
    assert isinstance(store.finish(finish(1, ("join", size))), Stored)
    assert opened(tmp_path).begin_epoch() == (IssuedIds(1, 3), Predecessor(1, is_complete=True, operators=("join",)))
    # One that cannot be read says of nobody that he may come back.
    (tmp_path / "1/manifest.json").write_text("spoilt")
    assert opened(tmp_path).begin_epoch() == (IssuedIds(1, 4), Predecessor(1, is_complete=True))


def test_without_its_file_ids_go_on_above_all_that_is_left_of_others(tmp_path: Path) -> None:
    operate(tmp_path, 40)
    assert opened(tmp_path).begin_epoch() == (IssuedIds(40, 1), None)


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b'{"format": 1, "pipeline": "default", "last_checkpoint_id": -1, "epoch": 1}',
     b'{"format": 0, "pipeline": "default", "last_checkpoint_id": 1}', b"\xff",
     b'{"format": 1, "pipeline": "default", "last_checkpoint_id": 1, "epoch": 281474976710656}'],
)  # fmt: skip
def test_a_file_that_makes_no_sense_is_not_passed_over(tmp_path: Path, content: bytes) -> None:
    Path(tmp_path, COORDINATOR).write_bytes(content)
    with pytest.raises(CheckpointDamaged, match="makes no sense"):
        opened(tmp_path).begin_epoch()


def test_a_later_format_and_another_pipelines_store_are_refused(tmp_path: Path, store: CoordinatorStore) -> None:
    store.begin_epoch()
    with pytest.raises(StoreTaken, match="owner=default"):
        opened(tmp_path, pipeline="lidar").begin_epoch()
    Path(tmp_path, COORDINATOR).write_text(json.dumps({"format": 2}))
    with pytest.raises(CheckpointNewer):
        opened(tmp_path).begin_epoch()


@pytest.mark.parametrize("step", ["write", "rename", "sync_folder"])
def test_an_id_that_does_not_last_is_not_given_out(
    tmp_path: Path, store: CoordinatorStore, disk: FailingDisk, step: str
) -> None:
    store.begin_epoch()
    disk.fails_at = step, ""
    failed = store.allocate(Allocate(IssuedIds(1, 1)))
    assert isinstance(failed, AllocationFailed)
    assert "No space left" in failed.reason
    disk.fails_at = "", ""
    # Whether it reached the disk or not: the next life gives it to nobody who could have met it.
    issued, _ = opened(tmp_path).begin_epoch()
    assert issued.last_checkpoint_id in (0, 1)


# --- the manifest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_part", [True, False])
def test_a_checkpoint_is_what_its_operators_stored(tmp_path: Path, store: CoordinatorStore, has_part: bool) -> None:
    sizes = [(name, operate(tmp_path, 5, name, has_part=has_part)) for name in ("a", "b")]
    stored = store.finish(finish(5, *sizes))
    assert stored == Stored(
        checkpoint_id=5, size_bytes=2 * sizes[0][1], is_unaligned=True, was_threshold_triggered=False
    )
    checkpoints = CheckpointStore(tmp_path)
    assert list(checkpoints.problems(5)) == []
    manifest = checkpoints.manifest(5)
    assert (manifest.epoch, manifest.pipeline, manifest.checkpoint_id) == (3, "default", 5)
    assert UUID(manifest.checkpoint_uuid).version == 7
    assert [each.operator_id for each in manifest.operators] == ["a", "b"]
    assert [(each.operator_id, each.event_count) for each in manifest.inflight_data] == [("a", 2), ("b", 2)]
    lost = ({"seq": 7, "cause": "overwritten"},) if has_part else ()
    assert manifest.inflight_data[0].lost == lost


@pytest.mark.parametrize(
    ("is_asked", "is_switched", "want"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_the_threshold_made_it_unaligned_if_an_operator_says_so_or_nobody_asked(
    tmp_path: Path, store: CoordinatorStore, is_asked: bool, is_switched: bool, want: bool
) -> None:
    size = operate(tmp_path, 5, is_switched=is_switched)
    stored = store.finish(finish(5, ("join", size), is_asked_unaligned=is_asked))
    assert isinstance(stored, Stored)
    assert stored.was_threshold_triggered is want


@pytest.mark.parametrize("name", ["state.bin", "inflight_1.buf", OPERATOR_PART])
def test_files_that_are_not_as_they_were_said_to_be_make_no_checkpoint(
    tmp_path: Path, store: CoordinatorStore, name: str
) -> None:
    size = operate(tmp_path, 5)
    file = tmp_path / "5" / "operators" / "join" / name
    whole = file.read_bytes()
    for content in (whole[:-2], whole[:1] + b"\xff" + whole[2:]):
        file.write_bytes(content)
        problem = store.finish(finish(5, ("join", size)))
        assert isinstance(problem, StoreProblem)
        assert problem.cause == AbortCause.STORE_FAILED
        assert name in problem.reason
        assert CheckpointStore(tmp_path).ids() == []
    file.write_bytes(whole)
    assert isinstance(store.finish(finish(5, ("join", size))), Stored)


def test_an_operator_that_stored_nothing_or_another_size_makes_no_checkpoint(
    tmp_path: Path, store: CoordinatorStore
) -> None:
    size = operate(tmp_path, 5)
    for acknowledged in (("join", size - 1), ("other", 0)):
        problem = store.finish(finish(5, acknowledged))
        assert isinstance(problem, StoreProblem)
        assert acknowledged[0] in problem.reason
    assert CheckpointStore(tmp_path).ids() == []


def test_an_operator_speaks_for_its_own_files_only(tmp_path: Path, store: CoordinatorStore) -> None:
    operate(tmp_path, 5, "b")
    folder = tmp_path / "5" / "operators"
    (folder / "a").mkdir()
    (folder / "a" / OPERATOR_PART).write_bytes((folder / "b" / OPERATOR_PART).read_bytes())
    problem = store.finish(finish(5, ("a", 0)))
    assert isinstance(problem, StoreProblem)
    assert "not those of a" in problem.reason


@pytest.mark.parametrize("step", ["write", "rename", "sync_folder"])
def test_a_manifest_that_may_not_last_is_taken_back(
    tmp_path: Path, store: CoordinatorStore, disk: FailingDisk, step: str
) -> None:
    size = operate(tmp_path, 5)
    disk.fails_at = step, "/5"
    problem = store.finish(finish(5, ("join", size)))
    disk.fails_at = "", ""
    assert isinstance(problem, StoreProblem)
    assert CheckpointStore(tmp_path).ids() == []


def test_another_ones_checkpoint_of_that_id_stays(tmp_path: Path, store: CoordinatorStore) -> None:
    size = operate(tmp_path, 5)
    assert isinstance(store.finish(finish(5, ("join", size))), Stored)
    assert isinstance(store.finish(finish(5, ("join", size))), StoreProblem)
    assert CheckpointStore(tmp_path).ids() == [5]


# --- what goes again ----------------------------------------------------------------------------------------


def test_the_newest_are_kept_and_attempts_that_came_to_nothing_go(tmp_path: Path, store: CoordinatorStore) -> None:
    stored = [store.finish(finish(n, ("join", operate(tmp_path, n)))) for n in (1, 2, 4)]
    assert [each.pruned for each in stored if isinstance(each, Stored)] == [0, 0, 1]
    operate(tmp_path, 3)
    operate(tmp_path, 5)
    operate(tmp_path, 6)
    store.tidy(below=6)
    assert sorted(int(each.name) for each in tmp_path.iterdir() if each.name.isdigit()) == [2, 4, 6]
    assert store.counts["attempts_dropped"] == 2


def test_what_cannot_be_dropped_stops_nothing_and_keeps_no_other_from_going(
    tmp_path: Path, store: CoordinatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop = CheckpointStore.drop

    def refuse(self: CheckpointStore, checkpoint_id: int) -> None:
        if checkpoint_id in (1, 5):
            raise StoreFailed("Directory not empty")
        drop(self, checkpoint_id)

    monkeypatch.setattr(CheckpointStore, "drop", refuse)
    stored = [store.finish(finish(n, ("join", operate(tmp_path, n)))) for n in (1, 2, 3, 4)]
    assert all(isinstance(each, Stored) for each in stored)
    assert CheckpointStore(tmp_path).ids() == [1, 3, 4]
    assert store.counts["not_dropped"] == 2
    operate(tmp_path, 5)
    operate(tmp_path, 6)
    store.tidy(below=7)
    assert not (tmp_path / "6").exists()
    assert (store.counts["not_dropped"], store.counts["attempts_dropped"]) == (3, 1)


# --- streams whose producers cannot inject ------------------------------------------------------------------


def cut_at(place: Path, operator_id: str, last_seq: int) -> tuple[str, int]:
    """An operator that cut a stream by itself; what it acknowledges."""
    store = CheckpointStore(place)
    state = replace(
        store.write_state(1, operator_id, b"state"),
        ingress=({"stream": 10_001, "epoch": 7, "last_seq": last_seq},),
    )
    store.write_part(1, OperatorPart(state=state))
    return operator_id, state.bytes


@pytest.mark.parametrize(("places", "is_stored"), [((41, 41), True), ((41, 43), False)])
def test_p10_agents_that_cut_one_stream_at_different_places_make_no_checkpoint(
    tmp_path: Path, store: CoordinatorStore, places: tuple[int, int], is_stored: bool
) -> None:
    acknowledged = [cut_at(tmp_path, name, last_seq) for name, last_seq in zip("ab", places, strict=True)]
    result = store.finish(finish(1, *acknowledged))
    if is_stored:
        assert isinstance(result, Stored)
        manifest = CheckpointStore(tmp_path).manifest(1)
        assert [each.ingress[0]["last_seq"] for each in manifest.operators] == [41, 41]
    else:
        assert isinstance(result, StoreProblem)
        assert result.cause is AbortCause.INJECTION_FAILED
        assert "stream 10001" in result.reason
        assert CheckpointStore(tmp_path).ids() == []
