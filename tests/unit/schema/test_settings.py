# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""Clients find their drivers: precedence of the client settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.config.settings import account, clean_user, default_aeron_dir, load_client_settings
from framegate.schema.errors import UnknownKey, WrongType


def test_defaults_need_no_file() -> None:
    settings = load_client_settings({})
    assert (settings.aeron_dir, settings.base_dir) == (None, f"/dev/shm/tensorpool-{clean_user(account())}")
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


DRIVER = """
[policies]
announce_period_ms = 4000
[profiles.a]
payload_pools = [{ pool_id = 1, stride_bytes = 4096 }]
[streams.left]
stream_id = 10001
profile = "a"
descriptor_stream = 1101
[streams.right]
stream_id = 10002
profile = "a"
[streams.third]
stream_id = 10003
profile = "a"
descriptor_stream = 1103
"""


def test_a_drivers_file_tells_its_clients_the_descriptor_streams_and_the_announce_period(tmp_path: Path) -> None:
    file = tmp_path / "driver.toml"
    file.write_text(f"{DRIVER}[client]\ndescriptor_streams = {{ 10003 = 7, 10009 = 1109 }}\n")
    settings = load_client_settings({}, config=file)
    assert settings.descriptor_streams == {10001: 1101, 10003: 7, 10009: 1109}
    assert (settings.announce_period_ms, settings.freshness_ms, settings.silence_ms) == (4000, 12_000, 20_000)


def test_a_driver_that_announces_more_often_than_usual_is_believed_for_as_long_as_usual(tmp_path: Path) -> None:
    file = tmp_path / "driver.toml"
    file.write_text("[policies]\nannounce_period_ms = 50\n")
    settings = load_client_settings({}, config=file)
    assert (settings.freshness_ms, settings.silence_ms) == (3000, 5000)


def test_each_time_can_be_set_alone_and_the_others_follow_the_period() -> None:
    settings = load_client_settings(
        {"FRAMEGATE_CLIENT_ANNOUNCE_PERIOD_MS": "2000", "FRAMEGATE_CLIENT_SILENCE_MS": "2500"}
    )
    assert (settings.freshness_ms, settings.silence_ms) == (6000, 2500)


@pytest.mark.parametrize(
    "text", ["10001=1101,10002=1102", " 10001 = 1101 , 10002=1102 ", "{ 10001 = 1101, 10002 = 1102 }"]
)
def test_descriptor_streams_come_from_a_variable_too(text: str) -> None:
    settings = load_client_settings({"FRAMEGATE_DESCRIPTOR_STREAMS": text})
    assert settings.descriptor_streams == {10001: 1101, 10002: 1102}


@pytest.mark.parametrize(
    "text", ["10001", "10001=", "a=1", "10001=0", "10001=2147483648", "-1=5", "{ 10001 = 1.5 }", "[1]", "true"]
)
def test_what_is_no_descriptor_stream_is_refused_with_the_variable(text: str) -> None:
    with pytest.raises(WrongType) as wrong:
        load_client_settings({"FRAMEGATE_DESCRIPTOR_STREAMS": text})
    assert wrong.value.facts["variable"] == "FRAMEGATE_DESCRIPTOR_STREAMS"


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
