# SPDX-License-Identifier: Apache-2.0
"""The writer's eye on its readers sees what a look at every file would see, and reads only what changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.journal import reader_watch
from framegate.joinbarrier.journal.description import JournalDescription, write_description
from framegate.joinbarrier.journal.reader_watch import AGAIN_NS, SETTLED_NS, ReaderWatch
from framegate.joinbarrier.journal.readers import NamedReader, ReaderState, readers, surveyed
from framegate.shmpool.clock import ManualClock

from tests.unit.joinbarrier.journal.journal_world import EPOCH

SECOND = 1_000_000_000
LEASE_S = 60
DESCRIPTION = JournalDescription(out_stream=1, journal_epoch=EPOCH, inputs=(), reader_lease_s=LEASE_S)


@pytest.fixture
def clock(folder: Path) -> ManualClock:
    write_description(folder, DESCRIPTION)
    return ManualClock(1_000 * SECOND)


@pytest.fixture
def watch(folder: Path) -> ReaderWatch:
    return ReaderWatch(folder, DESCRIPTION)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each reading of the folder found."""
    found = list[int]()

    def counted(directory: Path) -> list[ReaderState]:
        states = readers(directory)
        found.append(len(states))
        return states

    monkeypatch.setattr(reader_watch, "readers", counted)
    return found


def claim(folder: Path, name: str, clock: ManualClock) -> NamedReader:
    return NamedReader.claim(folder, name, journal_epoch=EPOCH, clock=clock)


def test_every_claim_commit_and_release_is_seen_at_the_next_look(
    folder: Path, clock: ManualClock, watch: ReaderWatch
) -> None:
    assert watch.look(clock()).floor is None
    first, second = claim(folder, "a", clock), claim(folder, "b", clock)
    assert watch.look(clock()) == surveyed(folder, clock())
    assert watch.look(clock()).living == ["a", "b"]
    for row in range(1, 20):
        first.commit(2 * row)
        second.commit(row)
        assert watch.look(clock()).floor == row
    second.release()
    assert watch.look(clock()) == surveyed(folder, clock())
    assert watch.look(clock()).floor == 38


def test_a_folder_that_did_not_change_is_not_read_again(
    folder: Path, clock: ManualClock, watch: ReaderWatch, looks: list[int]
) -> None:
    claim(folder, "a", clock)
    watch.look(clock())
    clock.advance(SECOND)
    for _ in range(5):
        watch.look(clock())
        clock.advance(AGAIN_NS // 10)
    assert looks == [1, 1]


def test_a_folder_that_changed_a_moment_ago_is_read_until_its_time_tells_changes_apart(
    folder: Path, clock: ManualClock, watch: ReaderWatch, looks: list[int]
) -> None:
    claim(folder, "a", clock)
    for age_ns in (0, SETTLED_NS, SETTLED_NS + 1, SETTLED_NS + 2):
        watch.look(clock() + age_ns)
    assert looks == [1, 1, 1]


def test_a_lease_runs_out_without_any_change_of_the_folder(
    folder: Path, clock: ManualClock, watch: ReaderWatch
) -> None:
    claim(folder, "a", clock).commit(7)
    began_ns = clock()
    for second in range(LEASE_S + 1):
        assert watch.look(began_ns + second * SECOND).floor == 7
    found = watch.look(began_ns + LEASE_S * SECOND + 1)
    assert (found.floor, found.living, found.expired) == (None, [], ["a"])


@pytest.mark.parametrize("step_ns", [AGAIN_NS, -AGAIN_NS])
def test_what_could_not_be_read_is_tried_again_within_a_second_of_either_direction(
    folder: Path, clock: ManualClock, watch: ReaderWatch, monkeypatch: pytest.MonkeyPatch, step_ns: int
) -> None:
    """The process had no more files to open just then: nothing in the folder changes when it has."""
    claim(folder, "a", clock).commit(7)
    monkeypatch.setattr(reader_watch, "readers", lambda _directory: [])
    for _ in range(2):
        assert watch.look(clock()).floor is None
        clock.advance(SECOND)
    clock.advance(-SECOND)
    monkeypatch.undo()
    assert watch.look(clock() + step_ns).floor == 7
