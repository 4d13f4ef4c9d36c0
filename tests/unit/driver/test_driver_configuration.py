# SPDX-License-Identifier: Apache-2.0
"""The driver's configuration: the built-in profile, the protocol's defaults, and what cannot stand together."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.options import DriverOptions
from framegate.schema.config.types import IdRange
from framegate.schema.errors import ConflictingKeys, MissingKey, UnknownKey, WrongType

PROFILE = "[profiles.a]\npayload_pools = [{ pool_id = 1, stride_bytes = 4096 }]\n"
STREAM = PROFILE + '[streams.cam]\nstream_id = 10005\nprofile = "a"\n'


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "driver.toml"


def loaded(file: Path, text: str, environment: dict[str, str] | None = None) -> DriverConfig:
    file.write_text(text)
    return load_driver_config(DriverOptions(config=file), environment or {})


def conflict(file: Path, text: str) -> ConflictingKeys:
    with pytest.raises(ConflictingKeys) as caught:
        loaded(file, text)
    return caught.value


def test_built_in_profile_needs_no_file() -> None:
    config = load_driver_config(DriverOptions(), {})
    assert config.policies.allow_dynamic_streams
    assert config.driver.stream_id_range == IdRange(10000, 29999)
    profile = config.profiles[config.default_profile]
    assert (profile.header_nslots, [pool.stride_bytes for pool in profile.payload_pools]) == (128, [65536, 1048576])
    assert profile.bytes_per_stream() == 136 << 20
    assert (config.shm.permissions_mode, config.shm.mode) == ("600", 0o600)
    ids = config.driver.control_stream_id, config.driver.announce_stream_id, config.driver.qos_stream_id
    assert ids == (1000, 1001, 1200)


def test_derived_defaults_follow_what_they_derive_from(toml: Path) -> None:
    text = '[driver]\ncontrol_channel = "aeron:udp?endpoint=h:1"\n[shm]\nbase_dir = "/b"\n'
    config = loaded(toml, f"{text}[policies]\nannounce_period_ms = 50\n")
    assert config.driver.announce_channel == "aeron:udp?endpoint=h:1"
    assert config.shm.allowed_base_dirs == ["/b"]
    assert config.policies.epoch_gc_min_age_ns == 150_000_000


def test_a_mistake_in_what_others_derive_from_is_one_mistake(toml: Path) -> None:
    with pytest.raises(WrongType) as caught:
        loaded(toml, "[policies]\nannounce_period_ms = 0\n")
    assert "further" not in caught.value.facts


def test_static_streams_turn_dynamic_ones_off_unless_they_are_asked_for(toml: Path) -> None:
    config = loaded(toml, STREAM)
    assert (config.policies.allow_dynamic_streams, config.driver.stream_id_range) == (False, None)
    asked = loaded(
        toml, STREAM + "[policies]\nallow_dynamic_streams = true\n[driver]\nstream_id_range = [20000, 20009]\n"
    )
    assert (asked.policies.allow_dynamic_streams, asked.driver.stream_id_range) == (True, IdRange(20000, 20009))


def test_dynamic_streams_without_a_range_are_refused(toml: Path) -> None:
    error = conflict(toml, STREAM + "[policies]\nallow_dynamic_streams = true\n")
    assert (error.facts["line"], error.facts["other"]) == (7, "driver.stream_id_range")
    error = conflict(toml, '[driver]\nstream_id_range = ""\n')
    assert (error.facts["line"], error.facts["key"]) == (2, "driver.stream_id_range")


def test_ranges_that_overlap_name_both(toml: Path) -> None:
    text = '[driver]\nstream_id_range = "10000-29999"\ndescriptor_stream_id_range = [29999, 30005]\n'
    error = conflict(toml, text)
    assert (error.facts["line"], error.facts["column"]) == (3, 30)
    assert (error.facts["key"], error.facts["other"]) == ("driver.descriptor_stream_id_range", "driver.stream_id_range")
    assert "29999-30005" in error.message
    loaded(toml, text.replace("[29999,", "[30000,"))


@pytest.mark.parametrize("key", ["control_stream_id", "announce_stream_id", "qos_stream_id"])
def test_a_range_may_not_contain_the_drivers_own_streams(toml: Path, key: str) -> None:
    error = conflict(toml, f'[driver]\n{key} = 31001\ncontrol_stream_id_range = "31000-31002"\n')
    assert (error.facts["line"], error.facts["other"]) == (3, f"driver.{key}")
    loaded(toml, f'[driver]\n{key} = 31003\ncontrol_stream_id_range = "31000-31002"\n')


def test_a_conflict_with_a_default_points_at_what_was_written(toml: Path) -> None:
    error = conflict(toml, "[driver]\nqos_stream_id = 10000\n")
    assert (error.facts["line"], error.facts["key"]) == (2, "driver.qos_stream_id")


def test_a_range_may_not_contain_a_static_stream_or_its_descriptor_stream(toml: Path) -> None:
    error = conflict(toml, STREAM + '[driver]\ndescriptor_stream_id_range = "10000-10009"\n')
    assert error.facts["other"] == "streams.cam.stream_id"
    error = conflict(toml, STREAM + 'descriptor_stream = 31000\n[driver]\ncontrol_stream_id_range = "31000-31009"\n')
    assert error.facts["other"] == "streams.cam.descriptor_stream"


def test_pool_streams_and_descriptor_streams_are_two_number_spaces(toml: Path) -> None:
    dynamic = '[policies]\nallow_dynamic_streams = true\n[driver]\nstream_id_range = "20000-20009"\n'
    config = loaded(toml, f"{STREAM}descriptor_stream = 20005\n{dynamic}")
    assert config.streams["cam"].descriptor_stream == 20005


@pytest.mark.parametrize("mode", ["604", "606", "666", "661", "0644", "777"])
def test_a_mode_that_lets_others_in_is_refused_when_the_file_is_read(toml: Path, mode: str) -> None:
    with pytest.raises(WrongType) as caught:
        loaded(toml, f'[shm]\npermissions_mode = "{mode}"\n')
    assert (caught.value.facts["line"], caught.value.facts["key"]) == (2, "shm.permissions_mode")
    assert "others nothing" in caught.value.message


@pytest.mark.parametrize(("mode", "bits"), [("600", 0o600), ("660", 0o660), ("0640", 0o640), ("770", 0o770)])
def test_a_mode_for_the_owner_and_the_group_is_taken(toml: Path, mode: str, bits: int) -> None:
    assert loaded(toml, f'[shm]\npermissions_mode = "{mode}"\n').shm.mode == bits


def test_the_first_id_above_the_last_is_a_wrong_range(toml: Path) -> None:
    with pytest.raises(WrongType) as caught:
        loaded(toml, '[driver]\nstream_id_range = "5-4"\n')
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (2, 19)


def test_stream_and_pool_ids_are_unique(toml: Path) -> None:
    error = conflict(toml, STREAM + '[streams.two]\nstream_id = 10005\nprofile = "a"\n')
    assert (error.facts["line"], error.facts["other"]) == (7, "streams.cam.stream_id")
    pools = "payload_pools = [\n  { pool_id = 3, stride_bytes = 64 },\n  { pool_id = 3, stride_bytes = 128 }]\n"
    error = conflict(toml, f"[profiles.a]\n{pools}")
    assert (error.facts["line"], error.facts["column"]) == (4, 15)
    assert error.facts["key"] == "profiles.a.payload_pools[1].pool_id"


@pytest.mark.parametrize(
    "line",
    [
        "header_nslots = 100\npayload_pools = [{ pool_id = 1, stride_bytes = 64 }]",
        "payload_pools = []",
        "payload_pools = [{ pool_id = 1, stride_bytes = 32 }]",
        "payload_pools = [{ pool_id = 1, stride_bytes = 192 }]",
        "payload_pools = [{ pool_id = 0, stride_bytes = 64 }]",
        "payload_pools = [{ pool_id = 65536, stride_bytes = 64 }]",
    ],
)
def test_rings_that_the_protocol_does_not_allow(toml: Path, line: str) -> None:
    with pytest.raises(WrongType) as caught:
        loaded(toml, f"[profiles.a]\n{line}\n")
    assert caught.value.facts["line"] == 2


def test_a_profile_needs_pools_and_a_stream_needs_a_known_profile(toml: Path) -> None:
    with pytest.raises(MissingKey) as caught:
        loaded(toml, "[profiles.a]\nheader_nslots = 4\n")
    assert caught.value.facts["key"] == "profiles.a.payload_pools"
    error = conflict(toml, STREAM.replace('profile = "a"', 'profile = "b"'))
    assert error.facts["line"] == 5
    assert 'no profile "b"' in error.message
    error = conflict(toml, PROFILE + '[policies]\ndefault_profile = "z"\n')
    assert error.facts["key"] == "policies.default_profile"


def test_unknown_key_names_the_nearest(toml: Path) -> None:
    with pytest.raises(UnknownKey) as caught:
        loaded(toml, "[driver]\ncontrol_stream = 1\n")
    assert caught.value.facts["nearest"] == "control_stream_id"


def test_environment_beats_file_and_options_beat_both(toml: Path) -> None:
    toml.write_text('[driver]\ncontrol_stream_id = 7\n[shm]\nbase_dir = "/file"\n')
    environment = {
        "FRAMEGATE_DRIVER_CONTROL_STREAM_ID": "8",
        "FRAMEGATE_SHM_BASE_DIR": "/environment",
        "FRAMEGATE_POLICIES_MLOCK_SHM": "true",
        "FRAMEGATE_MEDIA_DRIVER_IDLE": "sleep",
        "FRAMEGATE_PROFILES_DEFAULT_HEADER_NSLOTS": "32",
        "FRAMEGATE_PROFILES_DEFAULT_PAYLOAD_POOLS": "[{pool_id = 1, stride_bytes = 64}]",
        "FRAMEGATE_CONFIG": str(toml),
    }
    config = load_driver_config(DriverOptions(aeron_dir="/option"), environment)
    assert (config.driver.control_stream_id, config.driver.aeron_dir) == (8, "/option")
    assert (config.shm.base_dir, config.policies.mlock_shm, config.media_driver.idle) == ("/environment", True, "sleep")
    assert config.profiles["default"].header_nslots == 32
    assert load_driver_config(DriverOptions(base_dir="/option"), environment).shm.base_dir == "/option"


def test_the_general_directories_reach_the_driver() -> None:
    environment = {"FRAMEGATE_AERON_DIR": "/a", "FRAMEGATE_BASE_DIR": "/b"}
    config = load_driver_config(DriverOptions(), environment)
    assert (config.driver.aeron_dir, config.shm.base_dir, config.client.aeron_dir) == ("/a", "/b", "/a")


@pytest.mark.parametrize(
    ("frame_bytes", "strides"),
    [(1, [64]), (65536, [65536]), (65537, [65536, 131072]), (1 << 20, [65536, 1 << 20]), (3 << 20, [65536, 4 << 20])],
)
def test_frame_bytes_makes_the_largest_pool_fit(frame_bytes: int, strides: list[int]) -> None:
    config = load_driver_config(DriverOptions(slots=16, frame_bytes=frame_bytes), {})
    profile = config.profiles["default"]
    assert [pool.stride_bytes for pool in profile.payload_pools] == strides
    assert profile.header_nslots == 16


@pytest.mark.parametrize("options", [DriverOptions(slots=100), DriverOptions(slots=0), DriverOptions(frame_bytes=0)])
def test_wrong_ring_options_are_named(options: DriverOptions) -> None:
    with pytest.raises(WrongType) as caught:
        load_driver_config(options, {})
    assert str(caught.value.facts["option"]) in {"--slots", "--frame-bytes"}


def test_the_shutdown_token_does_not_show_in_a_printed_configuration(toml: Path) -> None:
    assert "hunter2" not in repr(loaded(toml, '[policies]\nshutdown_token = "hunter2"\n'))


def test_pipelines_have_the_keys_and_defaults_of_the_coordinator(toml: Path) -> None:
    config = loaded(toml, '[checkpoint.default]\ndir = "/ck"\n[checkpoint.lidar]\ndir = "s3://b/ck"\ninterval_ms = 5\n')
    rules = config.checkpoint["default"].rules("default")
    assert (rules.pipeline, rules.store, rules.interval_ns) == ("default", "/ck", 0)
    times = rules.alignment_timeout_ms, rules.late_barrier_timeout_ms, rules.operator_timeout_ms
    assert times == (1_000, 10_000, 3_000)
    assert rules.checkpoint_timeout_ns == 41_000_000_000
    assert (rules.is_unaligned_allowed, rules.is_forced) == (True, False)
    lidar = config.checkpoint["lidar"]
    assert (lidar.place, lidar.rules("lidar").interval_ns, lidar.keep) == ("s3://b/ck", 5_000_000, 3)


def test_operators_are_told_a_directory_that_does_not_depend_on_where_they_are(toml: Path) -> None:
    config = loaded(toml, '[checkpoint.default]\ndir = "out/ck"\n')
    assert config.checkpoint["default"].place == str(Path("out/ck").absolute())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('[checkpoint.a]\ndir = "/ck"\n[checkpoint.b]\ndir = "/x/../ck"\n', "the store of two pipelines"),
        ('[checkpoint."a b"]\ndir = "/ck"\n', "letters, digits"),
        ('[checkpoint.a]\ndir = "/ck"\nunaligned = false\nforce_unaligned = true\n', "forced and are off"),
    ],
)
def test_pipelines_that_contradict_each_other_or_themselves_are_refused(toml: Path, text: str, found: str) -> None:
    assert found in conflict(toml, text).message


@pytest.mark.parametrize(
    "text",
    ['[checkpoint.a]\ndir = ""\n', '[checkpoint.a]\ndir = "/caf\\u00e9"\n', '[checkpoint.a]\ndir = "/ck"\nkeep = 0\n'],
)
def test_a_store_that_cannot_be_said_and_one_that_keeps_nothing_are_refused(toml: Path, text: str) -> None:
    with pytest.raises(WrongType):
        loaded(toml, text)


def test_a_pipeline_without_a_store_is_refused(toml: Path) -> None:
    with pytest.raises(MissingKey):
        loaded(toml, "[checkpoint.a]\ninterval_ms = 1000\n")
