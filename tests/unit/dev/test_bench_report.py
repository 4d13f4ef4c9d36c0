# SPDX-License-Identifier: Apache-2.0
"""The report of the benches: what a run wrote is read again, and the next run is compared with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from framegate.schema.errors import FileMissing, InvalidValue

from dev.bench.comparison import changes
from dev.bench.report import JSON_NAME, PAGE_NAME, exponent_of, page, read, write
from dev.bench.result import Result


def told(question: str, measured: float, least: float, most: float, unit: str = "ns") -> Result:
    return Result(question=question, measured=measured, unit=unit, spread=(least, most))


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    results = [told("a <row>", 3.0, 2.0, 4.0), Result(question="not here", measured=None, how="not installed")]
    write(tmp_path / "new", results)
    assert read(tmp_path / "new" / JSON_NAME) == results
    text = (tmp_path / "new" / PAGE_NAME).read_text()
    assert "a &lt;row&gt;" in text
    assert "http" not in text.replace("http://www.w3.org", ""), "nothing comes from outside"


def test_pairs_of_a_report_come_back_as_pairs(tmp_path: Path) -> None:
    grown = Result(question="grown", measured=1.0, series=((1.0, 2.0), (2.0, 4.0)), axis="inputs")
    (tmp_path / JSON_NAME).write_text(json.dumps({"version": 1, "results": [asdict(grown)]}), encoding="utf-8")
    assert read(tmp_path / JSON_NAME) == [grown]


def test_only_what_lies_wholly_apart_has_changed() -> None:
    before = [told("slower", 10, 9, 11), told("noisy", 10, 5, 15), told("faster", 10, 9, 11), told("gone", 1, 1, 1)]
    now = [told("slower", 20, 18, 22), told("noisy", 20, 14, 26), told("faster", 5, 4, 6), told("new", 1, 1, 1)]
    found = {each.question: each for each in changes(before, now)}
    assert {name: each.is_worse for name, each in found.items()} == {"slower": True, "faster": False}
    assert found["slower"].row() == ("slower", "10 ns", "20 ns", "2.00", "slower")


def test_a_lower_rate_is_worse_and_a_lower_cost_is_better() -> None:
    [rate] = changes([told("a", 10, 9, 11, "rows/s")], [told("a", 5, 4, 6, "rows/s")])
    [cost] = changes([told("a", 10, 9, 11, "ns")], [told("a", 5, 4, 6, "ns")])
    assert (rate.is_worse, cost.is_worse) == (True, False)


def test_the_power_of_growth_is_that_of_all_points() -> None:
    assert exponent_of([(1, 5.0), (10, 5.0), (100, 5.0)]) == pytest.approx(0)
    assert exponent_of([(2, 3.0), (4, 6.0), (128, 192.0)]) == pytest.approx(1)


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        read(tmp_path / "missing.json")
    (tmp_path / "other.json").write_text('{"version": 99}')
    with pytest.raises(InvalidValue):
        read(tmp_path / "other.json")


def test_a_page_has_the_plots_of_what_it_shows() -> None:
    pytest.importorskip("matplotlib")
    results = [
        Result(question="bounded", measured=2.0, target=1.0),
        Result(question="beside", measured=2.0, beside=(("framegate", 2.0), ("floor", 1.0)), beside_unit="us"),
        Result(question="grown", measured=1.0, series=((1.0, 2.0), (2.0, 4.0)), axis="inputs", series_unit="ns"),
    ]
    text = page(results, {"cores": 2})
    assert text.count("<svg") == 3
    assert "grows with the power 1.00" in text
