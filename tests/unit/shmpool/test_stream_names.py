# SPDX-License-Identifier: Apache-2.0
"""Streams by name: one number for one name, for every program of a base directory."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from framegate.schema.config.types import IdRange
from framegate.schema.errors import InvalidValue, NoPermission, StreamUnknown
from framegate.shmpool.client.stream_names import FILE, StreamNames

RANGE = IdRange(10_000, 29_999)


def test_a_name_has_one_number_that_follows_from_it_alone(tmp_path: Path) -> None:
    here, there = StreamNames(tmp_path / "a"), StreamNames(tmp_path / "b")
    numbers = [here.id_of(name) for name in ("left", "right", "imu")]
    assert [there.id_of(name) for name in ("imu", "right", "left")] == numbers[::-1]
    assert [here.id_of(name) for name in ("left", "right", "imu")] == numbers
    assert len(set(numbers)) == 3
    assert all(25_000 <= number <= 29_999 for number in numbers)
    assert here.name_of(numbers[0]) == "left"
    assert here.name_of(10_001) is None


def test_numbers_stay_what_they_are(tmp_path: Path) -> None:
    names = StreamNames(tmp_path)
    assert (names.id_of(10_001), names.id_of("10001"), names.known()) == (10_001, 10_001, {})
    assert not (tmp_path / FILE).exists()


def test_two_names_that_ask_for_one_number_get_two_which_are_kept(tmp_path: Path) -> None:
    narrow = IdRange(100, 107)
    StreamNames(tmp_path).fix({"a": 100}, narrow)
    found = {name: StreamNames(tmp_path).id_of(name) for name in ("left", "right")}
    assert sorted(found.values()) == [106, 107]
    assert {name: StreamNames(tmp_path).id_of(name) for name in ("right", "left")} == found
    with pytest.raises(StreamUnknown, match="taken"):
        StreamNames(tmp_path).id_of("third")


def test_names_of_a_drivers_file_hold_and_who_was_there_before_gives_way(tmp_path: Path) -> None:
    names = StreamNames(tmp_path)
    first = names.id_of("left")
    names.fix({"right": first, "imu": 77}, RANGE)
    assert (names.id_of("right"), names.id_of("imu")) == (first, 77)
    assert names.id_of("left") not in (first, 77)


def test_a_driver_without_dynamic_streams_knows_no_other_names(tmp_path: Path) -> None:
    names = StreamNames(tmp_path)
    names.fix({"left": 5}, None)
    with pytest.raises(StreamUnknown, match="allows no others") as refused:
        names.id_of("right")
    assert refused.value.facts == {"stream": "right", "known": "left"}
    names.fix({}, RANGE)
    assert names.id_of("right") >= 25_000


@pytest.mark.parametrize("name", ["Left", "left cam", "", "-1", "4294967295", "0", "a" * 65])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StreamUnknown):
        StreamNames(tmp_path).id_of(name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"ids": [5, 1], "fixed": [], "names": {}}',
        '{"ids": null, "fixed": ["x"], "names": {}}',
        '{"ids": null, "fixed": [], "names": {"a": 1, "b": 1}}',
        '{"ids": null, "fixed": [], "names": {"../a": 1}}',
        '{"ids": null, "fixed": [], "names": {"a": "1"}}',
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InvalidValue, match="damaged"):
        StreamNames(tmp_path).id_of("left")


def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    StreamNames(tmp_path).id_of("left")
    (tmp_path / FILE).chmod(0o666)
    with pytest.raises(NoPermission):
        StreamNames(tmp_path).id_of("left")


def _name_many(folder: str, first: int) -> dict[str, int]:
    names = StreamNames(folder)
    return {f"cam{number}": names.id_of(f"cam{number}") for number in range(first, first + 40)}


def test_processes_that_name_streams_at_once_agree(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        found = pool.starmap(_name_many, [(str(tmp_path), first) for first in (0, 10, 20, 30)])
    together: dict[str, int] = {}
    for each in found:
        for name, number in each.items():
            assert together.setdefault(name, number) == number
    assert json.loads((tmp_path / FILE).read_text())["names"] == together
    assert len(set(together.values())) == 70


@pytest.mark.parametrize("wrong", [-1, 1 << 32, True, 1.5, None, b"left"])
def test_what_is_neither_a_number_nor_a_name_is_refused(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(StreamUnknown, match="number from 1"):
        StreamNames(tmp_path).id_of(wrong)  # type: ignore[arg-type]
