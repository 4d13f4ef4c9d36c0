# SPDX-License-Identifier: Apache-2.0
"""A join that is killed and goes back to its checkpoint: the engine alone, fed frame by frame; files are real."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.agent.restoring import own_part
from framegate.joinbarrier.checkpoint.restore.basis import Basis
from framegate.joinbarrier.checkpoint.restore_choice import Chosen, choose
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.verify import verify

from tests.unit.joinbarrier.cut_bench import LEFT, RIGHT, payload_of
from tests.unit.joinbarrier.part_world import World


class Lives:
    """One join in one folder, life after life."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables: dict[str, Any] = {}
        self.world: World | None = None

    def begin(self, wanted: str | int | None = None, **tables: Any) -> World:
        """A life; restored if something is wanted."""
        self.tables = tables or self.tables
        chosen = self.chosen(wanted) if wanted is not None else None
        self.world = World(self.path, chosen=chosen, **self.tables)
        self.world.announce()
        return self.world

    def chosen(self, wanted: str | int) -> Chosen | None:
        assert self.world is not None
        return choose(self.world.store, wanted, own_part(self.world.bench.config))

    def killed(self) -> None:
        assert self.world is not None
        self.world.kill()

    def rows(self, *, is_sound: bool = True) -> list[tuple[Any, ...]]:
        """Of the finished journal: output, then sequence and payload of each input."""
        assert self.world is not None
        self.world.part.close()
        self.world.bench.finish()
        assert (verify(Journal(self.path / "journal")).problem is None) == is_sound
        return [
            (row.out_seq, *((row.inputs[name].seq, _bytes(row.inputs[name].array)) for name in ("left", "right")))
            for row in Journal(self.path / "journal").rows()
        ]

    def left_out(self) -> dict[str, list[tuple[int, int, str]]]:
        found: dict[str, list[tuple[int, int, str]]] = {}
        for each in Journal(self.path / "journal").unmatched().to_pylist():
            found.setdefault(each["input"], []).append((each["seq"], each["seq_last"], each["cause"]))
        return found


def _bytes(array: Any) -> bytes:
    return bytes(array)


def joined(*seqs: int) -> list[tuple[Any, ...]]:
    """Rows of a lockstep join."""
    return [(seq, (seq, payload_of(LEFT, seq)), (seq, payload_of(RIGHT, seq))) for seq in seqs]


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    lives = Lives(tmp_path)
    yield lives
    if lives.world is not None:
        lives.world.part.close()


def test_p1_frames_that_waited_are_joined_after_a_restore_though_no_ring_has_them(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2, 3)
    world.bench.frames(RIGHT, 0, 1)
    world.cut(1)
    world.stored(1)
    lives.killed()
    world = lives.begin("latest")
    assert world.bench.resumption.basis is Basis.SAME
    world.bench.frames(RIGHT, 2, 3)
    assert lives.rows() == joined(0, 1, 2, 3)


def test_p1_without_the_copies_of_what_waited_the_rows_would_be_missing(lives: Lives) -> None:
    """The rule broken: what the check above holds on to."""
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2, 3)
    world.bench.frames(RIGHT, 0, 1)
    world.cut(1)
    world.stored(1)
    lives.killed()
    chosen = lives.chosen("latest")
    assert chosen is not None
    lives.world = World(lives.path, chosen=replace(chosen, frames=()))
    lives.world.bench.frames(RIGHT, 2, 3)
    assert lives.rows() == joined(0, 1)


def test_p7_with_the_checkpoints_state_on_a_longer_journal_rows_would_come_twice(
    lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule broken: whose state it is does not go by the journal's tail."""
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    world.bench.frames(RIGHT, 1, 2)
    world.bench.seal()
    lives.killed()
    monkeypatch.setattr("framegate.joinbarrier.agent.restoring.basis_of", lambda _head, _tail: Basis.CHECKPOINT)
    world = lives.begin("latest")
    world.bench.frames(RIGHT, 1, 2)
    assert [row[0] for row in lives.rows(is_sound=False)] == [0, 1, 2, 1, 2]


def test_p7_rows_that_were_sealed_after_the_cut_are_not_made_again(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2, 3)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    world.bench.frames(RIGHT, 1, 2)
    world.bench.seal()
    lives.killed()
    world = lives.begin("latest")
    assert world.bench.resumption.basis is Basis.TAIL
    assert world.bench.resumption.restored_frames == 1, "frame 3 waits; of the others all is known"
    world.bench.frames(RIGHT, 1, 2, 3)
    assert lives.rows() == joined(0, 1, 2, 3)


def test_p2_a_copy_that_was_given_back_lives_until_its_frame_is_joined(lives: Lives) -> None:
    """More than an arena of the join's own holds: what was restored waits in memory of its own."""
    world = lives.begin()
    payloads = {seq: bytes([seq]) * 30_000 for seq in range(16)}
    for seq in range(16):
        world.bench.frame(LEFT, seq, payloads[seq])
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    lives.killed()
    world = lives.begin("latest", pending_bytes=1 << 16)
    for seq in range(1, 16):
        # The arena is overrun again and again by what comes now.
        world.bench.frame(LEFT, 100 + seq, bytes(40_000))
        world.bench.frames(RIGHT, seq)
    assert [row[1] for row in lives.rows()] == [(seq, payloads[seq]) for seq in range(16)]


def test_p2_what_comes_after_a_restore_takes_no_copys_place(lives: Lives) -> None:
    """As many frames as a ring holds are told behind nearly as many that waited."""
    world = lives.begin()
    world.bench.frames(LEFT, *range(60))
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    lives.killed()
    world = lives.begin("latest")
    world.bench.frames(LEFT, *range(60, 124))
    world.bench.frames(RIGHT, *range(1, 124))
    assert lives.rows() == joined(*range(124))


def test_p2_copies_that_find_no_room_are_lost_by_that_name_and_the_oldest_stay(lives: Lives) -> None:
    world = lives.begin(pending_bytes=1 << 16)
    for seq in range(16):
        world.bench.frame(LEFT, seq, bytes(30_000))
    world.bench.frames(RIGHT, *range(16))
    counted = world.bench.counters()
    assert (counted["arena_full"], counted["arena_peak_bytes"]) == (14, 1 << 16)
    assert [row[0] for row in lives.rows()] == [0, 1]
    assert lives.left_out()["left"] == [(2, 15, "no_room")]


def test_memory_of_copies_that_were_given_back_goes_with_their_frames(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    lives.killed()
    world = lives.begin("latest")
    assert world.bench.counters()["restored_waiting"] == 2
    world.bench.frames(RIGHT, 1, 2)
    world.bench.frames(LEFT, 3)
    world.bench.frames(RIGHT, 3)
    assert world.bench.counters()["restored_waiting"] == 0
    assert lives.rows() == joined(0, 1, 2, 3)


def test_what_was_in_flight_comes_before_anything_new_and_its_barrier_is_over(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1)
    world.bench.frames(RIGHT, 0)
    world.bench.barrier(LEFT, 3)
    world.bench.frames(LEFT, 2)
    world.bench.wait(1001)
    world.bench.frames(RIGHT, 1)
    world.bench.watermark(RIGHT, 7)
    world.bench.barrier(RIGHT, 3)
    world.stored(3)
    lives.killed()
    world = lives.begin("latest")
    counted = world.bench.counters()["checkpoints"]
    assert (counted["checkpoint_id"], counted["ignored_stale"]) == (3, 1)
    world.bench.frames(LEFT, 2)
    world.bench.frames(RIGHT, 2)
    assert lives.rows() == joined(0, 1, 2)


def test_rows_after_a_restore_carry_its_checkpoint_and_older_barriers_are_over(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    world.cut(5)
    world.stored(5)
    lives.killed()
    world = lives.begin(5)
    for stream in (LEFT, RIGHT):
        world.bench.barrier(stream, 5)
        world.bench.barrier(stream, 4)
        world.bench.frames(stream, 1)
    world.cut(6)
    world.bench.frames(LEFT, 2)
    world.bench.frames(RIGHT, 2)
    assert lives.rows() == joined(0, 1, 2)
    assert world.bench.checkpoints_of_rows() == {0: 0, 1: 5, 2: 6}


def test_p7_a_journal_that_is_gone_begins_a_new_epoch_with_the_checkpoint(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2)
    world.bench.frames(RIGHT, 0, 1)
    world.cut(1)
    world.stored(1)
    then = world.bench.folder.epoch
    lives.killed()
    shutil.rmtree(lives.path / "journal")
    world = lives.begin("latest")
    assert world.bench.resumption.basis is Basis.CHECKPOINT
    assert world.bench.folder.epoch != then
    world.bench.frames(RIGHT, 2)
    assert lives.rows() == joined(2)


def test_p7_a_journal_that_is_shorter_than_the_checkpoint_is_set_aside(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0)
    world.bench.frames(RIGHT, 0)
    world.bench.seal()
    kept = lives.path / "kept"
    shutil.copytree(lives.path / "journal", kept)
    world.bench.frames(LEFT, 1, 2)
    world.bench.frames(RIGHT, 1)
    world.cut(1)
    world.stored(1)
    then = world.bench.folder.epoch
    lives.killed()
    shutil.rmtree(lives.path / "journal")
    kept.rename(lives.path / "journal")
    world = lives.begin("latest")
    assert world.bench.resumption.basis is Basis.NEW_EPOCH
    world.bench.frames(RIGHT, 2)
    assert lives.rows() == joined(2)
    assert (lives.path / "journal" / f"old-{then}").is_dir()


def test_two_kills_in_a_row_and_the_second_life_made_no_checkpoint(lives: Lives) -> None:
    """The journal of the second life is another epoch's, and further than the checkpoint: it goes on."""
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2, 3)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    lives.killed()
    shutil.rmtree(lives.path / "journal")
    world = lives.begin("latest")
    world.bench.frames(RIGHT, 1)
    world.bench.seal()
    second = world.bench.folder.epoch
    lives.killed()
    world = lives.begin("latest")
    assert (world.bench.resumption.basis, world.bench.folder.epoch) == (Basis.TAIL, second)
    world.bench.frames(RIGHT, 1, 2, 3)
    assert lives.rows() == joined(1, 2, 3)


def test_a_kill_before_anything_of_a_new_epoch_was_sealed_goes_back_to_the_same(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1)
    world.bench.frames(RIGHT, 0)
    world.cut(1)
    world.stored(1)
    lives.killed()
    shutil.rmtree(lives.path / "journal")
    second = lives.begin("latest").bench.folder.epoch
    lives.killed()
    world = lives.begin("latest")
    assert (world.bench.resumption.basis, world.bench.folder.epoch) == (Basis.SAME, second)
    world.bench.frames(RIGHT, 1)
    assert lives.rows() == joined(1)


def test_what_could_not_be_joined_before_the_cut_is_written_down_once(lives: Lives) -> None:
    world = lives.begin()
    world.bench.frames(LEFT, 0, 1, 2)
    world.bench.frames(RIGHT, 0)
    # Frame 2 was announced, and does not fit: it waits to be written down behind frame 1.
    world.bench.frame(RIGHT, 2, bytes(2 << 20))
    world.cut(1)
    world.stored(1)
    lives.killed()
    world = lives.begin("latest")
    world.bench.frames(LEFT, 3)
    world.bench.frames(RIGHT, 3)
    assert lives.rows() == joined(0, 3)
    assert lives.left_out()["left"] == [(1, 2, "no_partner")]
    assert [each for each in lives.left_out()["right"] if each[2] == "no_room"] == [(2, 2, "no_room")]


@pytest.mark.parametrize("policy", ["union", "latest"])
def test_p8_no_row_twice_and_order_kept_whatever_the_policy(lives: Lives, policy: str) -> None:
    world = lives.begin(join={"policy": policy})
    for seq in range(4):
        world.bench.frames(LEFT, seq)
        world.bench.frames(RIGHT, seq)
    world.cut(1)
    world.stored(1)
    for seq in (4, 5):
        world.bench.frames(LEFT, seq)
        world.bench.frames(RIGHT, seq)
    world.bench.seal()
    lives.killed()
    world = lives.begin("latest")
    for seq in range(2, 8):
        # A source that goes back: some of it is heard again.
        world.bench.frames(LEFT, seq)
        world.bench.frames(RIGHT, seq)
    world.part.close()
    world.bench.finish()
    rows = [tuple(each.seq for each in row.inputs.values()) for row in world.bench.rows()]
    assert len(set(rows)) == len(rows)
    for at in (0, 1):
        seqs = [row[at] for row in rows if row[at] is not None]
        assert seqs == sorted(seqs)
        assert set(seqs) == set(range(8))
