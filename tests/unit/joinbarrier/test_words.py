# SPDX-License-Identifier: Apache-2.0
"""Rules in words and by signs, and the join that a set of them describes."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.config import toml_text as toml_module
from framegate.joinbarrier.config import worded as worded_module
from framegate.joinbarrier.config import words as words_module
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.config.toml_text import toml_text
from framegate.joinbarrier.config.worded import out_stream_name, tables_of
from framegate.joinbarrier.config.words import Rule, parse_duration, parse_rule, parse_sign
from framegate.schema.errors import WrongUsage

MS = 1_000_000


@pytest.mark.parametrize("module", [words_module, worded_module, toml_module], ids=lambda module: module.__name__)
def test_the_examples_run(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("offset -2", Rule("offset", -2)),
        ("offset +3, optional", Rule("offset", 3, is_optional=True)),
        ("window 5", Rule("window", 5)),
        ("nearest 10ms, once", Rule("nearest", 10 * MS, is_once=True)),
        ("newest 1.5 s", Rule("newest", 1500 * MS)),
        ("latest", Rule("latest")),
        ("optional", Rule(is_optional=True)),
        ("", Rule()),
    ],
)
def test_words(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("word", "name", "rule"),
    [
        ("left", "left", Rule()),
        ("right:-2", "right", Rule("offset", -2)),
        ("left/5", "left", Rule("window", 5)),
        ("imu~10ms", "imu", Rule("nearest", 10 * MS, is_once=True)),
        ("imu<250us", "imu", Rule("newest", 250_000)),
        ("map^", "map", Rule("latest")),
        ("gps~1s?", "gps", Rule("nearest", 1000 * MS, is_once=True, is_optional=True)),
    ],
)
def test_signs(word: str, name: str, rule: Rule) -> None:
    assert parse_sign(word) == (name, rule)


@pytest.mark.parametrize("text", ["neerest 10ms", "nearest", "nearest 10", "offset", "offset 1.5", "latest 5", "near"])
def test_words_that_are_no_rule_are_shown_with_those_that_are(text: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        parse_rule(text, "imu")
    assert refused.value.facts == {"input": "imu", "found": text}
    assert "nearest D" in refused.value.hint


def test_a_misspelt_word_is_answered_with_the_one_that_is_like_it() -> None:
    with pytest.raises(WrongUsage, match="did you mean nearest"):
        parse_rule("neerest 10ms")
    with pytest.raises(WrongUsage, match="did you mean once"):
        parse_rule("nearest 10ms, onse")


@pytest.mark.parametrize("word", ["Right:-2", "right:", "imu~10", "imu~", "a:b", "x^5", "left right", "", "1left"])
def test_signs_that_are_no_rule_are_refused(word: str) -> None:
    with pytest.raises(WrongUsage):
        parse_sign(word)


@pytest.mark.parametrize("text", ["10", "ms", "-1ms", "1h", "1 000ms", "nanms"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_duration(text)


# --- A whole join ---


def config_of(tmp_path: Path, every_ns: int | None = None, **rules: str) -> JoinConfig:
    """The join that the words describe, by way of a file."""
    parsed = {name: parse_rule(text) for name, text in rules.items()}
    path = tmp_path / "join.toml"
    path.write_text(toml_text(tables_of(parsed, "out/pair", every_ns)))
    return load_join_config(path, {"FRAMEGATE_BASE_DIR": str(tmp_path)})


def test_inputs_in_step_are_joined_by_sequence(tmp_path: Path) -> None:
    config = config_of(tmp_path, left="", right="offset -2", back="window 4")
    assert (config.join.policy, config.drive.kind) == ("sequence", "counter")
    assert [(each.offset, each.window) for each in config.input] == [(None, None), (-2, None), (None, 4)]


def test_an_input_by_time_makes_the_first_one_the_drive_and_others_keep_their_sequence(tmp_path: Path) -> None:
    config = config_of(tmp_path, left="", right="offset -2", back="", imu="nearest 10ms, once", map="latest, optional")
    assert (config.join.policy, config.join.drive) == ("timestamp", "input:left")
    left, right, back, imu, world = config.input
    assert (left.offset, right.offset, back.offset) == (None, -2, 0)
    assert (imu.pick, imu.tolerance_ns, imu.reuse) == ("nearest", 10 * MS, False)
    assert (world.pick, world.tolerance_ns, world.optional) == ("latest", None, True)


def test_a_clock_takes_the_newest_of_each_input(tmp_path: Path) -> None:
    latest = config_of(tmp_path, 100 * MS, left="", right="latest")
    assert (latest.join.policy, latest.drive.hz) == ("latest", 10.0)
    bounded = config_of(tmp_path, 100 * MS, left="", right="newest 50ms")
    assert bounded.join.policy == "timestamp"
    assert [each.pick for each in bounded.input] == ["latest", "newest"]


@pytest.mark.parametrize(
    ("rules", "every_ns"),
    [
        ({"left": "nearest 5ms", "right": ""}, None),
        ({"left": "optional", "right": "nearest 5ms"}, None),
        ({"left": "", "right": "window 5", "imu": "nearest 5ms"}, None),
        ({"left": "", "right": "offset 1"}, 100 * MS),
    ],
)
def test_rules_that_cannot_stand_together_are_refused(rules: dict[str, str], every_ns: int | None) -> None:
    with pytest.raises(WrongUsage):
        tables_of({name: parse_rule(text) for name, text in rules.items()}, "out/pair", every_ns)


def test_the_output_stream_has_the_name_of_the_folder() -> None:
    assert [out_stream_name(path) for path in ("out/pair", "/x/42", "A b/")] == [
        "pair_joined",
        "join_42_joined",
        "a_b_joined",
    ]
