# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""Mistakes in a rig file are found before anything starts, each with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framegate.schema.errors import (
    ConfigurationError,
    ConflictingKeys,
    FileMissing,
    InvalidToml,
    MissingKey,
    UnknownKey,
    WrongType,
)
from framegate.tools.rig.load import load_rig

SOURCE = "[source.left]\nstream = 1\nrate = 10\n"
JOIN = '[[join.both.input]]\nname = "a"\nstream = 1\n'

WRONG: list[tuple[str, type[ConfigurationError], int | None, str]] = [
    ("[source.left\n", InvalidToml, 1, ""),
    (SOURCE + "sped = 1\n", UnknownKey, 4, "nearest"),
    (SOURCE + "restart = 'sometimes'\n", WrongType, 4, "on-failure"),
    ("[source.Left]\nstream = 1\nrate = 1\n", WrongType, 1, "small letters"),
    ("[command.driver]\ncommand = 'true'\n", WrongType, 1, "driver"),
    ("[command.rig]\ncommand = 'true'\n", WrongType, 1, "nor 'rig'"),
    ("[source.left]\nstream = 0\nrate = 1\n", WrongType, 2, "stream"),
    ("[source.left]\nstream = 'Left'\nrate = 1\n", WrongType, 2, "its name: small letters"),
    ("[source.left]\nrate = 1\n", ConflictingKeys, None, "one of the two"),
    ("[source.left]\nstream = 1\n", ConflictingKeys, 2, "rate, max_rate and schedule"),
    ("[command.x]\n", MissingKey, None, "command"),
    ("[rig]\ngrace_s = 1\n", ConflictingKeys, None, "at least one part"),
    (SOURCE + "after = ['lft']\n", ConflictingKeys, 4, "nearest is left"),
    ("[server.s]\njoins = ['both']\n" + SOURCE, ConflictingKeys, 2, "no join named both"),
    (SOURCE + "[command.left]\ncommand = 'true'\n", ConflictingKeys, None, "two parts are named left"),
    ("[join.both]\n", ConflictingKeys, None, "one of the three"),
    ("[join.both]\nwords = 'a b'\n", ConflictingKeys, 2, "out"),
    ("[join.both]\nconfig = 'nowhere.toml'\n", FileMissing, None, "nowhere.toml"),
    (JOIN + "ofset = 2\n", UnknownKey, 4, "offset"),
    (JOIN + '[[join.both.input]]\nname = "a"\nstream = 2\n', ConflictingKeys, 5, "two inputs are called"),
    (JOIN + JOIN.replace("both", "other"), ConflictingKeys, None, "one journal"),
]


@pytest.mark.parametrize(
    ("text", "kind", "line", "said"), WRONG, ids=[f"{each[1].__name__}-{each[3]}" for each in WRONG]
)
def test_a_mistake_is_a_numbered_error_at_its_place(
    tmp_path: Path, text: str, kind: type[ConfigurationError], line: int | None, said: str
) -> None:
    file = tmp_path / "rig.toml"
    file.write_text(text)
    with pytest.raises(kind) as caught:
        load_rig(file, {})
    facts: dict[str, Any] = caught.value.facts
    assert said in str(caught.value)
    assert line is None or facts["line"] == line, str(caught.value)


def test_a_mistake_in_a_join_file_is_told_with_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "join.toml").write_text('[join]\npolicy = "sequence"\n[[input]]\nstream = 5\n')
    (tmp_path / "rig.toml").write_text("[join.both]\nconfig = 'join.toml'\n")
    with pytest.raises(MissingKey) as caught:
        load_rig(tmp_path / "rig.toml", {})
    assert caught.value.facts["file"] == str(tmp_path / "join.toml")


def test_directories_come_from_the_command_line_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "rig.toml"
    file.write_text(SOURCE + "[client]\nbase_dir = '/dev/shm/file'\n")
    environment = {"FRAMEGATE_BASE_DIR": "/dev/shm/environment"}
    assert load_rig(file, {}).client.base_dir == "/dev/shm/file"
    assert load_rig(file, environment).client.base_dir == "/dev/shm/environment"
    assert load_rig(file, environment, base_dir="/dev/shm/option").client.base_dir == "/dev/shm/option"
