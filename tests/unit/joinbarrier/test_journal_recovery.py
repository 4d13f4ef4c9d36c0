# SPDX-License-Identifier: Apache-2.0
"""A journal is opened again after its writer died, or after its bytes were changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from framegate.schema.errors import JournalBusy, JournalDamaged, JournalFailed, NoRoom, WrongUsage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framegate._native import JournalWriter
from tests.unit.joinbarrier.journal_writing import SEGMENT_BYTES, append, batches, cell, files, rows, small_writer


def _dropped(folder: Path, sealed_rows: int) -> None:
    """A journal with a batch for every row, whose writer went away without closing it."""
    writer = small_writer(folder, ["a"])
    for seq in range(sealed_rows):
        append(writer, {"a": cell(b"payload %d" % seq, seq)}, out_seq=seq)
        writer.unmatched("a", seq=seq)
        writer.seal(json.dumps({"next": seq + 1}).encode())
    append(writer, {"a": cell(b"never sealed")})
    writer.drop_open()


def test_rows_go_on_behind_what_was_sealed(folder: Path) -> None:
    _dropped(folder, 3)
    writer = small_writer(folder, ["a"])
    found = writer.recovered
    assert (found["next_row"], found["seals"], found["state"]) == (3, 3, b'{"next": 3}')
    assert (found["cut_batches"], found["was_clean"]) == (0, False)
    append(writer, {"a": cell(b"after", 3)}, out_seq=3)
    writer.close()
    assert [row["row"] for row in rows(folder)] == [0, 1, 2, 3]
    assert [row["out_seq"] for row in rows(folder)] == [0, 1, 2, 3]
    assert [path.suffix for path in files(folder)] == [".arrow", ".arrow"]


def test_payloads_without_a_byte_are_whole_too(folder: Path) -> None:
    writer = small_writer(folder, ["a", "b"])
    # One row where there was room for four: what lies behind the first input's place is behind the body's end.
    append(writer, {"a": cell(b"a" * 5000), "b": cell(b"")})
    writer.seal()
    writer.drop_open()
    writer = small_writer(folder, ["a", "b"])
    assert (writer.recovered["next_row"], writer.recovered["cut_batches"]) == (1, 0)


def test_unmatched_frames_that_no_seal_accounts_for_are_cut_off(folder: Path) -> None:
    _dropped(folder, 3)
    # As if the writer had died between the two seals of its third: the rows' batch was never shown.
    (segment,) = files(folder)
    last = batches(segment)[-1].numbers
    content = bytearray(segment.read_bytes())
    at = content.rfind(b"\xff\xff\xff\xff", 0, content.find(b'"seal":%20d' % last["seal"]))
    content[at : at + 8] = bytes(8)
    segment.write_bytes(content)
    writer = small_writer(folder, ["a"])
    assert (writer.recovered["next_row"], writer.recovered["cut_batches"]) == (2, 1)
    writer.close()
    assert [row["seq"] for row in rows(folder, "unmatched")] == [0, 1]


@pytest.mark.parametrize("durability", ["memory", "disk", "fsync", "checkpoint"])
def test_rows_are_there_at_every_durability(folder: Path, durability: str) -> None:
    writer = small_writer(folder, ["a"], durability=durability)
    for seq in range(30):
        append(writer, {"a": cell(bytes(4000), seq)})
    writer.seal()
    writer.sync()
    writer.drop_open()
    writer = small_writer(folder, ["a"], durability=durability)
    assert (writer.recovered["next_row"], writer.recovered["cut_batches"]) == (30, 0)


def test_a_segment_without_batches_is_taken_away(folder: Path) -> None:
    small_writer(folder, ["a"]).drop_open()
    writer = small_writer(folder, ["a"])
    assert writer.recovered["next_row"] == 0
    assert [path.name for path in files(folder)] == ["00000001-0000000000000000.open"]


def test_files_on_their_way_to_be_segments_are_taken_away(folder: Path) -> None:
    _dropped(folder, 1)
    (folder / "segments" / "free-00000007").write_bytes(b"anything")
    small_writer(folder, ["a"]).close()
    assert not list((folder / "segments").glob("free-*"))


def test_a_second_writer_is_refused_while_the_first_one_lives(folder: Path) -> None:
    first = small_writer(folder, ["a"])
    with pytest.raises(JournalBusy):
        small_writer(folder, ["a"])
    first.close()
    small_writer(folder, ["a"]).close()


@pytest.mark.parametrize(
    ("inputs", "options"), [(["b"], {}), (["a", "b"], {}), (["a"], {"out_stream": 5}), (["a"], {"journal_epoch": 5})]
)
def test_a_journal_of_another_join_is_not_continued(folder: Path, inputs: list[str], options: dict[str, int]) -> None:
    _dropped(folder, 1)
    with pytest.raises(JournalDamaged):
        small_writer(folder, inputs, **options)


@pytest.mark.parametrize(
    "options",
    [{"seal_rows": 0}, {"segment_bytes": 4097}, {"segment_bytes": 4096}, {"max_bytes": SEGMENT_BYTES}],
)
def test_a_configuration_that_cannot_work_is_refused(folder: Path, options: dict[str, int]) -> None:
    with pytest.raises(WrongUsage):
        small_writer(folder, ["a"], **options)


def test_a_row_larger_than_a_segment_says_which_key_to_raise(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    with pytest.raises(JournalFailed, match="raise segment_bytes"):
        writer.append({"a": cell(bytes(SEGMENT_BYTES))})


def test_a_file_system_without_room_is_an_error_and_no_signal(folder: Path) -> None:
    with pytest.raises(NoRoom):
        JournalWriter(folder, ["a"], segment_bytes=1 << 44, max_bytes=1 << 45)


@pytest.fixture(scope="module")
def damaged_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journal")
    _dropped(folder, 4)
    return folder


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_byte_is_wrong_only_true_rows_come_back(
    folder: Path, damaged_journal: Path, data: st.DataObject
) -> None:
    wanted = rows(damaged_journal)
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(damaged_journal, copy)
    (segment,) = files(copy)
    content = bytearray(segment.read_bytes())
    end = len(content) - len(content.rstrip(b"\0"))
    at = data.draw(st.integers(0, len(content) - end + 8))
    content[at] ^= data.draw(st.integers(1, 255))
    segment.write_bytes(content)
    try:
        writer = small_writer(copy, ["a"])
    except JournalDamaged:
        return
    writer.close()
    found = rows(copy)
    assert found == wanted[: len(found)]
