# SPDX-License-Identifier: Apache-2.0
"""Which checkpoint a join goes back to, whose state it goes on from, and what it makes of hostile bytes."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.agent.restoring import own_part, parse_wanted
from framegate.joinbarrier.checkpoint.manifest import InflightData, Manifest
from framegate.joinbarrier.checkpoint.operator.state import decode_state, encode_head
from framegate.joinbarrier.checkpoint.restore.basis import Basis, JournalTail, basis_of
from framegate.joinbarrier.checkpoint.restore_choice import LATEST, OwnPart, choose
from framegate.joinbarrier.checkpoint.state_head import StateHead, read_head
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema.errors import (
    CheckpointDamaged,
    CheckpointMismatch,
    CheckpointMissing,
    CheckpointNewer,
    WrongUsage,
)

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT
from tests.unit.joinbarrier.part_world import OPERATOR, World


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes, OwnPart]:
    """A state as an engine cut it, what was in flight, and whose it is."""
    world = World(tmp_path_factory.mktemp("cut"))
    world.announce()
    world.bench.frames(LEFT, 0, 1, 2)
    world.bench.frames(RIGHT, 0)
    world.bench.barrier(LEFT, 1)
    world.bench.wait(1001)
    world.bench.frames(RIGHT, 1)
    world.bench.barrier(RIGHT, 1)
    world.stored(1)
    found = world.store.restore(world.store.manifest(1), OPERATOR)
    inflight = world.store._read(1, f"operators/{OPERATOR}/inflight_1.buf")
    own = own_part(world.bench.config)
    world.kill()
    return found.state, inflight, own


class Kept:
    """A store whose checkpoints are written as wanted, each whole by its sums."""

    def __init__(self, place: Path) -> None:
        self.store = CheckpointStore(place)

    def keep(
        self,
        checkpoint_id: int,
        state: bytes,
        inflight: bytes | None = None,
        *,
        operator_id: str = OPERATOR,
        pipeline: str = "default",
        lost: tuple[Any, ...] = (),
        others: tuple[str, ...] = (),
    ) -> None:
        beside = [self.store.write_state(checkpoint_id, other, b"another state") for other in others]
        stored = self.store.write_state(checkpoint_id, operator_id, state)
        late: tuple[InflightData, ...] = ()
        if inflight is not None:
            count = int.from_bytes(inflight[4:12], "little")
            late = (self.store.write_inflight_file(checkpoint_id, operator_id, 1, inflight, count, lost),)
        manifest = Manifest(
            checkpoint_id=checkpoint_id,
            checkpoint_uuid="018bcfe5-6800-7000-8000-000000000000",
            epoch=1,
            pipeline=pipeline,
            is_unaligned=inflight is not None,
            was_threshold_triggered=False,
            created_ns=1,
            operators=(stored, *beside),
            inflight_data=late,
        )
        self.store.commit(manifest)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "store")


def changed(state: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same frames behind another head."""
    image = decode_state(state)
    head = copy.deepcopy(dict(image.head))
    change(head)
    return encode_head(head) + b"".join(len(each).to_bytes(4, "little") + each for each in image.frames)


def numbered(state: bytes, checkpoint_id: int) -> bytes:
    return changed(state, lambda head: head.update(checkpoint_id=checkpoint_id))


# --- which one ---


def test_the_newest_whole_checkpoint_is_chosen_and_read(kept: Kept, cut: tuple[bytes, bytes, OwnPart]) -> None:
    state, inflight, own = cut
    kept.keep(1, state, inflight)
    kept.keep(2, numbered(state, 2), inflight)
    chosen = choose(kept.store, LATEST, own)
    assert chosen is not None
    assert (chosen.head.checkpoint_id, chosen.head.next_row, chosen.head.late_inputs) == (2, 1, (1,))
    assert [len(each.records) for each in chosen.late] == [1]
    assert len(chosen.frames) == 4


def test_before_the_first_checkpoint_there_is_none(kept: Kept, cut: tuple[bytes, bytes, OwnPart]) -> None:
    assert choose(kept.store, LATEST, cut[2]) is None
    with pytest.raises(CheckpointMissing, match="checkpoint_id=3"):
        choose(kept.store, 3, cut[2])


def test_what_cannot_be_used_is_passed_over_and_said(
    kept: Kept, cut: tuple[bytes, bytes, OwnPart], caplog: pytest.LogCaptureFixture
) -> None:
    state, inflight, own = cut
    kept.keep(1, state, inflight)
    kept.keep(2, state, operator_id="join-7")
    kept.keep(3, b"FGJOINST")
    kept.keep(4, numbered(changed(state, lambda head: head.update(format=9)), 4), inflight)
    kept.keep(5, numbered(state, 4), inflight)
    kept.keep(6, numbered(state, 6), inflight)
    (Path(kept.store.place) / "6" / "operators" / OPERATOR / "inflight_1.buf").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        chosen = choose(kept.store, LATEST, own)
    assert chosen is not None
    assert chosen.head.checkpoint_id == 1
    passed = [record.message.split(":")[0] for record in caplog.records]
    assert passed == [f"checkpoint {each} is passed over" for each in (6, 5, 4, 3, 2)]


def test_a_checkpoint_of_which_another_operators_file_is_damaged_is_passed_over_by_all(
    kept: Kept, cut: tuple[bytes, bytes, OwnPart], caplog: pytest.LogCaptureFixture
) -> None:
    state, inflight, own = cut
    kept.keep(1, state, inflight, others=("join-20002",))
    kept.keep(2, numbered(state, 2), inflight, others=("join-20002",))
    (Path(kept.store.place) / "2" / "operators" / "join-20002" / "state.bin").write_bytes(b"anything else")
    chosen = choose(kept.store, LATEST, own)
    assert chosen is not None
    assert chosen.head.checkpoint_id == 1
    assert "checkpoint 2 is passed over" in caplog.text
    # Who names it, and has a whole part of his own in it, knows what he does.
    named = choose(kept.store, 2, own)
    assert named is not None
    assert named.head.checkpoint_id == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("out_stream", 20_002),
        ("policy", "union"),
        ("inputs", (("left", LEFT), ("wrong", RIGHT))),
        ("pipeline", "other"),
        ("recording", "some.mcap"),
    ],
)
def test_a_checkpoint_of_another_join_is_refused_by_any_name(
    kept: Kept, cut: tuple[bytes, bytes, OwnPart], key: str, value: Any
) -> None:
    state, inflight, own = cut
    kept.keep(1, state, inflight)
    for wanted in (1, LATEST):
        with pytest.raises(CheckpointMismatch):
            choose(kept.store, wanted, replace(own, **{key: value}))


@pytest.mark.parametrize(("word", "meant"), [("latest", "latest"), ("1", 1), (str(2**63 - 1), 2**63 - 1), (None, None)])
def test_what_is_wanted(word: str | None, meant: str | int | None) -> None:
    assert parse_wanted(word) == meant


@pytest.mark.parametrize("word", ["", "newest", "0", "-1", "1.5", "٣", str(2**63), "9" * 5000])
def test_what_cannot_be_wanted(word: str) -> None:
    with pytest.raises(WrongUsage):
        parse_wanted(word)


# --- hostile bytes ---


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "no such key": lambda head: head.pop("stage"),
    "another type": lambda head: head.update(inputs=7),
    "a number as text": lambda head: head.update(out_stream="20001"),
    "negative": lambda head: head["journal"].update(next_row=-1),
    "too large": lambda head: head["journal"].update(epoch=2**63),
    "a fraction": lambda head: head["stage"].update(out_seq=1.0),
    "true": lambda head: head["stage"].update(out_seq=True),
    "cursors of one input": lambda head: head["stage"]["inputs"].pop(),
    "five cursors": lambda head: head["stage"]["inputs"][0].append(1),
    "no such policy": lambda head: head.update(policy="any"),
    "no such cause": lambda head: head["lost"].append([LEFT, 7, 1, 2, "boredom"]),
    "a loss of no input": lambda head: head["lost"].append([77, 7, 1, 2, "epoch"]),
    "a loss that ends before it begins": lambda head: head["lost"].append([LEFT, 7, 2, 1, "epoch"]),
    "overwritten of no input": lambda head: head["overwritten"].append([77, 7, 1]),
    "late inputs that are none": lambda head: head.update(late_inputs=[2]),
    "late inputs twice": lambda head: head.update(late_inputs=[1, 1]),
    "the rest of other streams": lambda head: head["rest"]["streams"][0].update(stream=77),
    "the rest of one stream": lambda head: head["rest"]["streams"].pop(),
    "flags that are none": lambda head: head["rest"]["streams"][0].update(is_ended=1),
    "too many times": lambda head: head["rest"].update(out_times=[1] * 1025),
    "a map that is none": lambda head: head["map"].update(message="00ff"),
    "a map that is no hex": lambda head: head["map"].update(message="xy"),
    "id 0": lambda head: head.update(checkpoint_id=0),
    "more frames": lambda head: head.update(frames=9),
    "another epoch than its frames": lambda head: head["rest"]["streams"][0].update(epoch=8),
    "a source that is none": lambda head: head.update(source={"name": "x"}),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_head_that_no_join_writes_is_damaged(kept: Kept, cut: tuple[bytes, bytes, OwnPart], what: str) -> None:
    state, inflight, own = cut
    kept.keep(1, changed(state, SPOILT[what]), inflight)
    with pytest.raises(CheckpointDamaged):
        choose(kept.store, 1, own)


def test_a_later_format_is_newer(kept: Kept, cut: tuple[bytes, bytes, OwnPart]) -> None:
    state, inflight, own = cut
    kept.keep(1, changed(state, lambda head: head.update(format=2)), inflight)
    with pytest.raises(CheckpointNewer):
        choose(kept.store, 1, own)


def test_no_flip_of_a_byte_of_state_or_events_escapes_as_anything_but_an_error(
    kept: Kept, cut: tuple[bytes, bytes, OwnPart]
) -> None:
    """The sums are those of the spoilt bytes: what is checked here is what the check sums do not."""
    state, inflight, own = cut
    outcomes = set()
    for checkpoint_id, at in enumerate(range(0, len(state), 7), start=1):
        spoilt = bytearray(state)
        spoilt[at] ^= 0x15
        kept.keep(checkpoint_id, bytes(spoilt), inflight)
        outcomes.add(_outcome(kept.store, checkpoint_id, own))
    assert outcomes <= {"taken", "CheckpointDamaged", "CheckpointNewer", "CheckpointMismatch"}
    base = 10_000
    for checkpoint_id, at in enumerate(range(12, len(inflight), 3), start=base):
        spoilt = bytearray(inflight)
        spoilt[at] ^= 0x2A
        kept.keep(checkpoint_id, numbered(state, checkpoint_id), bytes(spoilt))
        outcomes.add(_outcome(kept.store, checkpoint_id, own))
    assert outcomes <= {"taken", "CheckpointDamaged", "CheckpointNewer", "CheckpointMismatch"}


def _outcome(store: CheckpointStore, checkpoint_id: int, own: OwnPart) -> str:
    try:
        choose(store, checkpoint_id, own)
    except (CheckpointDamaged, CheckpointMismatch, CheckpointNewer) as refused:
        return type(refused).__name__
    return "taken"


# --- whose state ---


@pytest.fixture
def head(cut: tuple[bytes, bytes, OwnPart]) -> StateHead:
    return read_head(decode_state(cut[0]).head, where="here")


def later(head: StateHead, *decided: int) -> str:
    """The state that a journal holds when each input has decided so much."""
    found = json.loads(head.stage)
    for cursors, value in zip(found["inputs"], decided, strict=True):
        cursors[1] = value
    return json.dumps(found, separators=(",", ":"))


def test_p7_a_journal_that_is_as_far_or_further_goes_on_by_itself(head: StateHead) -> None:
    same = JournalTail(head.journal_epoch, head.next_row, head.stage)
    assert basis_of(head, same) is Basis.SAME
    further = JournalTail(head.journal_epoch, head.next_row + 5, later(head, 9, 4))
    assert basis_of(head, further) is Basis.TAIL


def test_p7_a_journal_that_has_lost_rows_begins_anew(head: StateHead) -> None:
    assert head.next_row > 0
    shorter = JournalTail(head.journal_epoch, head.next_row - 1, later(head, 0, 0))
    assert basis_of(head, shorter) is Basis.NEW_EPOCH
    assert basis_of(head, JournalTail(head.journal_epoch, 0, None)) is Basis.NEW_EPOCH


def test_p7_a_journal_that_has_just_begun_takes_the_checkpoints_state(head: StateHead) -> None:
    assert basis_of(head, JournalTail(head.journal_epoch + 1, 0, None)) is Basis.CHECKPOINT


def test_p7_a_journal_of_another_epoch_goes_on_where_every_cursor_is_as_far(head: StateHead) -> None:
    other = head.journal_epoch + 1
    assert basis_of(head, JournalTail(other, 0, head.stage)) is Basis.SAME
    assert basis_of(head, JournalTail(other, 3, later(head, 9, 9))) is Basis.TAIL
    assert basis_of(head, JournalTail(other, 3, later(head, 9, -1))) is Basis.NEW_EPOCH


def test_p7_a_journal_that_contradicts_the_checkpoint_is_refused(head: StateHead) -> None:
    with pytest.raises(CheckpointMismatch, match="decided less"):
        basis_of(head, JournalTail(head.journal_epoch, head.next_row + 1, later(head, 9, -1)))
