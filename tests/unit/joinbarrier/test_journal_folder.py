# SPDX-License-Identifier: Apache-2.0
"""What an agent finds in a journal's directory, and what it leaves there for the next one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from framegate.joinbarrier.journal import folder as journal_folder
from framegate.joinbarrier.journal.description import JournalInput, read_description, write_description
from framegate.joinbarrier.journal.folder import JournalFolder, JournalShape
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.layout import CLOSED, HEAD_BYTES, HEAD_MAGIC, RUNNING, HeadWord
from framegate.schema.errors import JournalBusy, JournalDamaged, JournalMismatch, JournalNewer, NoPermission
from framegate.spec.journal.writer import ReferenceJournalWriter

from tests.unit.joinbarrier.journal.journal_world import fill

SHAPE: Final = JournalShape(
    out_stream=20001,
    policy="sequence",
    inputs=(JournalInput(name="left", stream=10001), JournalInput(name="right", stream=10002)),
    durability="memory",
    reader_lease_s=60,
)
RULES: Final = [{"input": "left", "stream": 10001, "offset": 0}]


def noted(out_epoch: int, message: str = "a") -> dict[str, Any]:
    """An applied map as the agent notes it."""
    return {"out_epoch": out_epoch, "rules": RULES, "message": message, "local": {"policy": "sequence"}}


def opened_and_closed(folder: Path, **changes: Any) -> JournalFolder:
    with JournalFolder(folder, replace(SHAPE, **changes)) as held:
        return held


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "journal.json").read_text())
    return found


def write_head(folder: Path, state: int) -> None:
    words = [0] * (HEAD_BYTES // 8)
    words[HeadWord.MAGIC], words[HeadWord.VERSION], words[HeadWord.STATE] = HEAD_MAGIC, 1, state
    (folder / "journal.head").write_bytes(b"".join(word.to_bytes(8, "little") for word in words))


def rows_of(folder: Path) -> ReferenceJournalWriter:
    """The writer of a journal that an agent has begun."""
    names = [each.name for each in SHAPE.inputs]
    epoch = read_description(folder).journal_epoch
    return ReferenceJournalWriter(folder, names, out_stream=SHAPE.out_stream, journal_epoch=epoch)


def boot_again(folder: Path) -> None:
    write_description(folder, replace(read_description(folder), boot_id="another run of the host"))


def test_a_new_journal_says_what_it_is(folder: Path) -> None:
    held = opened_and_closed(folder)
    found = written(folder)
    assert {key: found[key] for key in ("format", "out_stream", "policy", "durability", "reader_lease_s", "maps")} == {
        "format": 1,
        "out_stream": 20001,
        "policy": "sequence",
        "durability": "memory",
        "reader_lease_s": 60,
        "maps": [],
    }
    assert found["inputs"] == [{"name": "left", "stream": 10001}, {"name": "right", "stream": 10002}]
    assert found["journal_epoch"] == held.epoch > 0
    assert found["boot_id"] == boot_id()
    assert found["realtime_minus_monotonic_ns"] != 0
    assert not list(folder.glob("*.tmp"))


def test_the_next_agent_goes_on_in_the_same_epoch_with_the_same_maps(folder: Path) -> None:
    with JournalFolder(folder, SHAPE) as first:
        assert first.note_map(noted(1)) == 1
    with JournalFolder(folder, replace(SHAPE, durability="disk", reader_lease_s=5)) as second:
        second.begin()
        assert (second.epoch, second.map_version) == (first.epoch, 1)
    assert written(folder)["maps"] == [{"version": 1, **noted(1)}]
    assert (written(folder)["durability"], written(folder)["reader_lease_s"]) == ("disk", 5)


def test_a_description_of_before_there_was_durability_is_continued(folder: Path) -> None:
    held = opened_and_closed(folder)
    found = written(folder)
    del found["durability"], found["maps_forgotten"]
    (folder / "journal.json").write_text(json.dumps(found, indent=1))
    assert opened_and_closed(folder).epoch == held.epoch


def test_a_map_is_counted_once_also_in_another_epoch_and_when_it_comes_again(folder: Path) -> None:
    """Otherwise two authorities that take turns would fill journal.json."""
    with JournalFolder(folder, SHAPE) as held:
        taken = [held.note_map(noted(epoch, message)) for epoch, message in ((1, "a"), (1, "a"), (2, "a"), (2, "b"))]
        assert taken == [1, 1, 1, 2]
        assert [held.note_map(noted(3, message)) for message in "abab"] == [1, 2, 1, 2]
    assert [each["version"] for each in written(folder)["maps"]] == [1, 2]


def test_the_same_announce_under_other_local_keys_is_another_version(folder: Path) -> None:
    with JournalFolder(folder, SHAPE) as held:
        assert held.note_map(noted(1)) == 1
        assert held.note_map({**noted(1), "local": {"policy": "latest"}}) == 2


def test_a_map_of_before_there_were_messages_keeps_its_version_and_is_not_taken_for_another(folder: Path) -> None:
    opened_and_closed(folder)
    found = written(folder)
    found["maps"] = [{"version": 1, "out_epoch": 1, "rules": RULES}]
    (folder / "journal.json").write_text(json.dumps(found, indent=1))
    with JournalFolder(folder, SHAPE) as held:
        assert held.note_map(noted(1)) == 2
    assert [each["version"] for each in written(folder)["maps"]] == [1, 2]


def test_forgotten_maps_still_count(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_folder, "_KEPT_MAPS", 2)
    with JournalFolder(folder, SHAPE) as held:
        assert [held.note_map(noted(1, str(each))) for each in range(4)] == [1, 2, 3, 4]
    with JournalFolder(folder, SHAPE) as again:
        assert again.map_version == 4
    assert [each["version"] for each in written(folder)["maps"]] == [3, 4]
    assert written(folder)["maps_forgotten"] == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"out_stream": 7}, "another out_stream"),
        ({"policy": "latest"}, "another policy"),
        ({"inputs": SHAPE.inputs[::-1]}, "other inputs"),
    ],
)
def test_a_journal_of_another_shape_is_refused_and_left_alone(folder: Path, changes: dict[str, Any], told: str) -> None:
    opened_and_closed(folder)
    fill(rows_of(folder), 1)
    before = (folder / "journal.json").read_bytes()
    with pytest.raises(JournalMismatch, match=told):
        opened_and_closed(folder, **changes)
    assert (folder / "journal.json").read_bytes() == before
    opened_and_closed(folder)


@pytest.mark.parametrize("changes", [{"policy": "latest"}, {"inputs": SHAPE.inputs[::-1]}])
def test_a_journal_that_never_had_a_row_binds_no_other_join(folder: Path, changes: dict[str, Any]) -> None:
    held = opened_and_closed(folder)
    rows_of(folder).seal({"out_epoch": 1, "out_seq": 0, "inputs": [[1, 0, 0, 0]] * 2})
    (folder / "readers").mkdir()
    (folder / "readers" / "somebody.json").touch()
    assert list((folder / "segments").iterdir())
    anew = opened_and_closed(folder, **changes)
    assert anew.epoch > held.epoch
    assert {each.name for each in folder.iterdir()} == {"journal.json", "journal.lock", "readers"}
    assert not list((folder / "readers").iterdir())
    found = written(folder)
    assert (found["policy"], len(found["inputs"])) == (changes.get("policy", "sequence"), 2)


def test_what_a_join_without_rows_did_not_join_is_set_aside_whole(folder: Path) -> None:
    held = opened_and_closed(folder)
    made = rows_of(folder)
    made.unmatched("left", 0, "no_partner")
    made.seal({"out_epoch": 1, "out_seq": 0, "inputs": [[1, 0, 0, 0]] * 2})
    opened_and_closed(folder, policy="latest")
    assert list((folder / f"old-{held.epoch}" / "unmatched").iterdir())
    assert not (folder / "segments").exists()


def test_a_journal_that_cannot_be_read_may_have_rows_and_binds(folder: Path) -> None:
    opened_and_closed(folder)
    fill(rows_of(folder), 1)
    (segment,) = (folder / "segments").iterdir()
    image = bytearray(segment.read_bytes())
    image[:64] = bytes(64)
    segment.write_bytes(image)
    with pytest.raises(JournalMismatch):
        opened_and_closed(folder, policy="latest")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda found: found.update(format=2), JournalNewer),
        (lambda found: found.update(format=0), JournalDamaged),
        (lambda found: found.pop("journal_epoch"), JournalDamaged),
        (lambda found: found.update(inputs=7), JournalDamaged),
    ],
)
def test_a_description_that_makes_no_sense_is_refused_and_left_alone(
    folder: Path, change: Callable[[dict[str, Any]], object], error: type[Exception]
) -> None:
    opened_and_closed(folder)
    found = written(folder)
    change(found)
    (folder / "journal.json").write_text(json.dumps(found))
    with pytest.raises(error):
        opened_and_closed(folder)
    assert written(folder) == found


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/journal"])
def test_a_place_where_no_folder_can_be_is_told_with_its_path(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("not mine")
    with pytest.raises(NoPermission) as told:
        JournalFolder(tmp_path / where, SHAPE)
    assert told.value.facts["path"] == str(tmp_path / where)
    assert (tmp_path / "file").read_text() == "not mine"


def test_one_agent_at_a_time(folder: Path) -> None:
    with JournalFolder(folder, SHAPE), pytest.raises(JournalBusy):
        JournalFolder(folder, SHAPE)
    opened_and_closed(folder)


@pytest.mark.parametrize(
    ("durability", "state", "is_continued"),
    [
        ("memory", CLOSED, True),
        ("memory", RUNNING, False),
        ("memory", None, False),
        ("disk", RUNNING, False),
        ("checkpoint", RUNNING, False),
        ("fsync", RUNNING, True),
        ("fsync", None, True),
    ],
)
def test_an_epoch_outlives_the_host_only_where_its_rows_were_safe(
    folder: Path, durability: str, state: int | None, is_continued: bool
) -> None:
    held = opened_and_closed(folder, durability=durability)
    if state is not None:
        write_head(folder, state)
    boot_again(folder)
    assert (opened_and_closed(folder, durability=durability).epoch == held.epoch) is is_continued


def test_within_one_run_of_the_host_a_killed_writer_costs_no_epoch(folder: Path) -> None:
    held = opened_and_closed(folder)
    write_head(folder, RUNNING)
    assert opened_and_closed(folder).epoch == held.epoch


def test_a_head_that_nobody_understands_is_no_proof_of_a_clean_end(folder: Path) -> None:
    held = opened_and_closed(folder)
    (folder / "journal.head").write_bytes(bytes(8 * HeadWord.STATE) + CLOSED.to_bytes(8, "little"))
    boot_again(folder)
    assert opened_and_closed(folder).epoch != held.epoch


def test_what_was_set_aside_already_is_not_set_aside_because_it_was_asked_for_too(folder: Path) -> None:
    held = opened_and_closed(folder)
    write_head(folder, RUNNING)
    boot_again(folder)
    with JournalFolder(folder, SHAPE, new_epoch=True) as anew:
        began = anew.epoch
        anew.begin()
        assert anew.epoch == began > held.epoch
    assert [each.name for each in folder.glob("old-*")] == [f"old-{held.epoch}"]


def test_a_new_epoch_sets_the_old_one_aside(folder: Path) -> None:
    with JournalFolder(folder, SHAPE) as held:
        held.note_map(noted(1))
    for name in ("segments", "unmatched", "readers"):
        (folder / name).mkdir()
    (folder / "segments" / "00000001-0000000000000000.open").touch()
    (folder / "readers" / "somebody.json").touch()
    write_head(folder, CLOSED)
    with JournalFolder(folder, SHAPE, new_epoch=True) as anew:
        # An agent that finds no driver ends here.
        assert (anew.epoch, anew.map_version) == (held.epoch, 1)
        assert (folder / "segments" / "00000001-0000000000000000.open").exists()
        anew.begin()
        assert anew.epoch > held.epoch
        assert anew.map_version == 0
    aside = folder / f"old-{held.epoch}"
    assert sorted(each.name for each in aside.iterdir()) == ["journal.head", "segments", "unmatched"]
    assert [each.name for each in (aside / "segments").iterdir()] == ["00000001-0000000000000000.open"]
    assert not list((folder / "readers").iterdir())
