# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""Clients find their drivers: precedence of the client settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.config.settings import default_aeron_dir, load_client_settings
from framegate.schema.errors import UnknownKey, WrongType


def test_defaults_need_no_file() -> None:
    settings = load_client_settings({})
    assert (settings.aeron_dir, settings.base_dir) == (None, "/dev/shm/tensorpool")
    assert (settings.log, settings.wait_driver) == ("warn", 10.0)


def test_command_line_beats_environment_beats_file(tmp_path: Path) -> None:
    file = tmp_path / "any.toml"
    file.write_text('[client]\naeron_dir = "/file"\nwait_driver = 1\n[join]\nout_stream = 1\n')
    environment = {"FRAMEGATE_CONFIG": str(file)}
    assert load_client_settings(environment).aeron_dir == "/file"
    assert load_client_settings(environment).wait_driver == 1.0
    environment["FRAMEGATE_AERON_DIR"] = "/environment"
    assert load_client_settings(environment).aeron_dir == "/environment"
    assert load_client_settings(environment, aeron_dir="/option").aeron_dir == "/option"


def test_a_given_config_beats_the_one_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[client]\nbase_dir = "/mine"\n')
    settings = load_client_settings({"FRAMEGATE_CONFIG": "/nowhere.toml"}, config=file)
    assert settings.base_dir == "/mine"


def test_a_drivers_file_serves_its_clients_and_the_client_table_wins(tmp_path: Path) -> None:
    file = tmp_path / "driver.toml"
    file.write_text('[driver]\naeron_dir = "/d"\n[shm]\nbase_dir = "/s"\n[client]\nbase_dir = "/c"\n')
    settings = load_client_settings({}, config=file)
    assert (settings.aeron_dir, settings.base_dir) == ("/d", "/c")


def test_mistakes_in_the_client_table_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "any.toml"
    file.write_text('[client]\nbasedir = "/x"\n')
    with pytest.raises(UnknownKey) as unknown:
        load_client_settings({}, config=file)
    assert (unknown.value.facts["line"], unknown.value.facts["nearest"]) == (2, "base_dir")
    with pytest.raises(WrongType) as wrong:
        load_client_settings({"FRAMEGATE_WAIT_DRIVER": "-1"})
    assert wrong.value.facts["variable"] == "FRAMEGATE_WAIT_DRIVER"


def test_the_default_aeron_directory_is_the_one_of_aerons_client() -> None:
    assert default_aeron_dir({"AERON_DIR": "/a", "USER": "u"}) == "/a"
    assert default_aeron_dir({"USER": "u"}) == "/dev/shm/aeron-u"
    assert default_aeron_dir({}).startswith("/dev/shm/aeron-")
