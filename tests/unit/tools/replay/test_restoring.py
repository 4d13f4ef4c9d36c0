# SPDX-License-Identifier: Apache-2.0
"""Where a replay goes on: its state's bytes, the checkpoint that it takes, and what it does when none knows it."""

from __future__ import annotations

import contextlib
import json
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.checkpoint.checkpoint_id import CheckpointId
from framegate.joinbarrier.checkpoint.manifest import Manifest
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.restore_choice import LATEST
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.control import PipelineAnnounce
from framegate.schema.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    CheckpointMissing,
    CheckpointNewer,
    InvalidValue,
    NoCoordinator,
)
from framegate.tools.replay.place import LOOP_MAX, POSITION_MAX, Place
from framegate.tools.replay.replay_state import ReplayState, StreamState, decode_replay_state
from framegate.tools.replay.restoring import Announced, find_state
from framegate.tools.replay.source_mark import source_mark

REPLAY, OTHER = "replay-1-2", "join-20001"


def stream(number: int, position: int = 60, **change: Any) -> StreamState:
    given = {"loop": 0, "recorded_epoch": 7, "source_epoch": 3, "after_seq": 19, **change}
    return StreamState(stream=number, position=position, **given)


def state(checkpoint_id: int = 4, **change: Any) -> ReplayState:
    given = {"operator_id": REPLAY, "epoch": 2, "source": "mark", "streams": (stream(1), stream(2, 54)), **change}
    return ReplayState(checkpoint_id=checkpoint_id, **given)


# --- the state's bytes -----------------------------------------------------------------------------------------


def test_a_state_is_the_head_that_the_protocol_says() -> None:
    data = state().encode()
    magic, version, head_bytes = struct.unpack_from("<8sII", data)
    assert (magic, version, head_bytes) == (b"FGREPLAY", 1, len(data) - 16)
    head = json.loads(data[16:])
    assert head["streams"][1] == {
        "stream": 2,
        "loop": 0,
        "position": 54,
        "recorded_epoch": 7,
        "source_epoch": 3,
        "after_seq": 19,
    }
    assert (head["operator_id"], head["checkpoint_id"], head["epoch"], head["source"]) == (REPLAY, 4, 2, "mark")
    assert decode_replay_state(data) == state()


def test_no_cut_and_no_changed_byte_of_a_state_escapes_as_anything_but_a_damaged_checkpoint() -> None:
    data = state().encode()
    for length in range(len(data)):
        with pytest.raises(CheckpointDamaged):
            decode_replay_state(data[:length])
    for at in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            with contextlib.suppress(CheckpointDamaged, CheckpointNewer):
                decode_replay_state(data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :])


@pytest.mark.parametrize(
    "change",
    [
        {"streams": (stream(1), stream(1))},
        {"streams": (stream(1, -1),)},
        {"streams": (stream(1, after_seq="19"),)},
        {"checkpoint_id": True},
    ],
)
def test_a_state_that_makes_no_sense_is_damaged(change: dict[str, Any]) -> None:
    with pytest.raises(CheckpointDamaged):
        decode_replay_state(state(**{"checkpoint_id": 4, **change}).encode())


def test_a_place_is_a_number_and_back_and_one_at_the_limit_is_refused() -> None:
    for place in (Place(0, 0), Place(3, 17), Place(LOOP_MAX - 1, POSITION_MAX - 1)):
        assert Place.of(place.number) == place
    assert Place(1, 0).number > Place(0, POSITION_MAX - 1).number
    for place in (Place(LOOP_MAX + 5, 1), Place(1, POSITION_MAX + 5)):
        with pytest.raises(InvalidValue):
            Place.of(place.number)


# --- the recording ---------------------------------------------------------------------------------------------


def test_a_recording_is_known_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    first, moved, other = (tmp_path / name for name in ("a.mcap", "b.mcap", "c.mcap"))
    for path, content in ((first, b"one"), (moved, b"one"), (other, b"two")):
        path.write_bytes(content)
    assert source_mark(first) == source_mark(moved) != source_mark(other)
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "1").write_bytes(b"x")
    before = source_mark(folder)
    (folder / "2").write_bytes(b"x")
    assert source_mark(folder) != before
    assert source_mark(Path("/dev/null")) == ""


# --- the checkpoint --------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints")


def keep(store: CheckpointStore, checkpoint_id: int, *operators: str, **change: Any) -> None:
    """A whole checkpoint of these operators."""
    parts = []
    for operator in operators:
        data = state(checkpoint_id, **change).encode() if operator == REPLAY else b"another one's"
        parts.append(store.write_state(checkpoint_id, operator, data))
        store.write_part(checkpoint_id, OperatorPart(state=parts[-1]))
    store.commit(
        Manifest(
            checkpoint_id=checkpoint_id,
            checkpoint_uuid=str(CheckpointId.new()),
            epoch=2,
            pipeline="default",
            is_unaligned=False,
            was_threshold_triggered=False,
            created_ns=1,
            operators=tuple(parts),
        )
    )


def test_the_newest_whole_checkpoint_is_taken_or_the_one_that_is_named(store: CheckpointStore) -> None:
    for checkpoint_id in (3, 4, 5):
        keep(store, checkpoint_id, OTHER, REPLAY)
    store.write_state(6, REPLAY, b"without a manifest")
    (Path(store.place) / "5/operators" / REPLAY / "state.bin").write_bytes(b"spoilt")
    found = [find_state(store, wanted, REPLAY, "mark") for wanted in (LATEST, 3)]
    assert [each.checkpoint_id for each in found if each] == [4, 3]
    with pytest.raises(CheckpointMissing):
        find_state(store, 6, REPLAY, "mark")
    with pytest.raises(CheckpointDamaged):
        find_state(store, 5, REPLAY, "mark")


def test_an_older_place_does_where_the_newest_checkpoint_does_not_know_the_replay(store: CheckpointStore) -> None:
    keep(store, 3, OTHER, REPLAY)
    keep(store, 4, OTHER)
    keep(store, 5, OTHER, REPLAY)
    found = find_state(store, 4, REPLAY, "mark")
    assert found is not None
    assert found.checkpoint_id == 3


def test_a_checkpoint_of_replays_alone_is_passed_over_as_a_join_does(store: CheckpointStore) -> None:
    keep(store, 3, OTHER, REPLAY)
    keep(store, 4, REPLAY)
    newest = find_state(store, LATEST, REPLAY, "mark")
    assert newest is not None
    assert newest.checkpoint_id == 3


def test_where_there_are_only_replays_their_newest_checkpoint_is_taken(store: CheckpointStore) -> None:
    for checkpoint_id in (3, 4):
        keep(store, checkpoint_id, REPLAY)
    newest = find_state(store, LATEST, REPLAY, "mark")
    assert newest is not None
    assert newest.checkpoint_id == 4


def test_where_every_checkpoint_is_damaged_nothing_is_guessed(store: CheckpointStore) -> None:
    keep(store, 3, OTHER, REPLAY)
    (Path(store.place) / "3/operators" / OTHER / "state.bin").write_bytes(b"spoilt")
    with pytest.raises(CheckpointMissing):
        find_state(store, LATEST, REPLAY, "mark")


@pytest.mark.parametrize("operators", [(), (OTHER,)])
def test_without_any_place_the_replay_begins_at_its_beginning(store: CheckpointStore, operators: tuple[str]) -> None:
    if operators:
        keep(store, 3, *operators)
    assert find_state(store, LATEST, REPLAY, "mark") is None


def test_a_place_in_another_recording_is_refused(store: CheckpointStore) -> None:
    keep(store, 3, REPLAY)
    with pytest.raises(CheckpointMismatch, match="another recording"):
        find_state(store, LATEST, REPLAY, "another mark")


def test_a_state_in_another_ones_name_is_damaged(store: CheckpointStore) -> None:
    keep(store, 3, REPLAY, operator_id="replay-9")
    with pytest.raises(CheckpointDamaged):
        find_state(store, LATEST, REPLAY, "mark")


# --- the coordinator -------------------------------------------------------------------------------------------


def announce(current: int, store: str = "/data") -> PipelineAnnounce:
    return PipelineAnnounce(
        last_checkpoint_id=9,
        current_checkpoint_id=current,
        epoch=1,
        flags=0,
        alignment_timeout_ms=1,
        late_barrier_timeout_ms=1,
        operator_timeout_ms=1,
        pipeline="default",
        store=store,
    )


def going_on() -> bool:
    return False


def test_the_store_is_not_looked_at_while_a_checkpoint_may_still_become_whole() -> None:
    announced = Announced()
    announced.hear(announce(9))
    found: list[str | None] = []
    waiting = threading.Thread(target=lambda: found.append(announced.store("default", 30, going_on)))
    waiting.start()
    announced.hear(announce(9))
    waiting.join(0.2)
    assert not found
    announced.hear(announce(0, "/later"))
    waiting.join(30)
    assert found == ["/later"]


def test_one_that_began_later_waits_for_whoever_listens_and_need_not_be_waited_for() -> None:
    announced = Announced()
    rest = []
    for current in (9, 9, 10, 10):
        announced.hear(announce(current))
        rest.append(announced.is_at_rest)
    assert rest == [False, False, True, True]
    assert announced.store("default", 30, going_on) == "/data"


def test_one_that_stays_under_way_is_waited_for_so_long_and_no_longer() -> None:
    announced = Announced()
    announced.hear(announce(9))
    assert announced.store("default", 0.1, going_on) == "/data"


def test_without_a_coordinator_a_store_must_be_named() -> None:
    with pytest.raises(NoCoordinator):
        Announced().store("default", 0.1, going_on)


def test_who_is_told_to_end_waits_for_no_coordinator() -> None:
    ends: Callable[[], bool] = lambda: True  # noqa: E731 - a name for a constant answer
    assert Announced().store("default", 30, ends) is None
