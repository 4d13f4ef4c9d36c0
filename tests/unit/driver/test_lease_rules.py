# SPDX-License-Identifier: Apache-2.0
"""From a configuration to the rules of the lease authority, and to the claimed base directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.driver import regions
from framegate.driver.configuration import DriverConfig, ShmSection, load_driver_config
from framegate.driver.lease_actions import PoolShape, StreamProfile
from framegate.driver.lease_rules import rules_of
from framegate.driver.lease_service import claimed
from framegate.driver.options import DriverOptions
from framegate.driver.region_folders import RegionFolders
from framegate.driver.regions import NativeMaker, RegionStore
from framegate.schema.config.types import IdRange
from framegate.schema.errors import ConflictingKeys, FramegateError, WrongType

from tests.unit.driver.driver_error_examples import DRIVER_ERROR_EXAMPLES
from tests.unit.driver.test_epochs import order

STATIC = """
[profiles.cameras]
payload_pools = [{ pool_id = 3, stride_bytes = 4096 }]
[streams.left]
stream_id = 77
profile = "cameras"
"""


def loaded(folder: Path, text: str) -> DriverConfig:
    file = folder / "driver.toml"
    file.write_text(text)
    return load_driver_config(DriverOptions(config=file), {})


def test_the_keys_of_the_family_have_their_defaults(tmp_path: Path) -> None:
    config = loaded(tmp_path, STATIC)
    assert (config.driver.instance_id, config.driver.control_stream_id, config.driver.qos_stream_id) == (
        "driver-01",
        1000,
        1200,
    )
    policies = config.policies
    assert (policies.announce_period_ms, policies.lease_keepalive_interval_ms) == (1000, 1000)
    assert (policies.lease_expiry_grace_intervals, policies.epoch_gc_keep) == (3, 2)
    assert (policies.prefault_shm, policies.mlock_shm, policies.epoch_gc_enabled) == (True, False, True)
    assert (policies.shutdown_timeout_ms, policies.shutdown_token) == (2000, "")
    assert (policies.allow_dynamic_streams, config.driver.stream_id_range) == (False, None)
    assert config.profiles["cameras"].header_nslots == 1024
    assert (config.shm.namespace, config.shm.require_hugepages, config.shm.page_size_bytes) == ("default", False, 4096)


def test_a_lease_lasts_interval_times_grace_and_other_times_are_as_configured(tmp_path: Path) -> None:
    policies = "lease_keepalive_interval_ms = 200\nlease_expiry_grace_intervals = 4\nannounce_period_ms = 50\n"
    rules = rules_of(loaded(tmp_path, f"{STATIC}[policies]\n{policies}"), has_hugepages=False)
    assert (rules.lease_ns, rules.announce_period_ns, rules.epoch_gc_min_age_ns) == (800e6, 50e6, 150e6)
    assert rules.static_profiles == {77: StreamProfile(1024, (PoolShape(3, 4096),))}
    assert not rules.allow_dynamic_streams


def test_without_a_file_dynamic_streams_have_the_built_in_profile() -> None:
    rules = rules_of(load_driver_config(DriverOptions(), {}), has_hugepages=True)
    assert rules.dynamic_ids == IdRange(10_000, 29_999)
    assert rules.default_profile == StreamProfile(
        128, (PoolShape(1, 65_536), PoolShape(2, 1_048_576)), fits_frames=True, has_own_slots=False
    )
    assert rules.has_hugepages


def test_the_current_epoch_is_kept_however_few_are_asked_for(tmp_path: Path) -> None:
    rules = rules_of(loaded(tmp_path, f"{STATIC}[policies]\nepoch_gc_keep = 0\n"), has_hugepages=False)
    assert rules.epoch_gc_keep == 1


def test_the_base_directory_must_lie_in_an_allowed_one_after_links_are_resolved(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    shm = ShmSection(base_dir=f"{inside}/link", allowed_base_dirs=[str(inside)])
    with pytest.raises(ConflictingKeys), claimed(DriverConfig(shm=shm)):
        pass
    assert list(outside.iterdir()) == []
    with claimed(DriverConfig(shm=ShmSection(base_dir=f"{inside}/link", allowed_base_dirs=[str(outside)]))) as found:
        assert found.store.folders.base == outside.resolve()


def test_a_base_directory_that_no_uri_can_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "two words")
    with pytest.raises(WrongType), claimed(DriverConfig(shm=ShmSection(base_dir=f"{tmp_path}/link"))):
        pass


@pytest.mark.parametrize("cleanup", [True, False])
def test_at_a_clean_end_nothing_is_left_unless_it_was_asked_to_stay(tmp_path: Path, cleanup: bool) -> None:
    config = DriverConfig(shm=ShmSection(base_dir=f"{tmp_path}/base"))
    assert config.policies.cleanup_shm_on_exit
    policies = config.policies.model_copy(update={"cleanup_shm_on_exit": cleanup})
    with claimed(config.model_copy(update={"policies": policies})) as directory:
        directory.store.provision(order(5))
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == ([] if cleanup else ["1.pool", "header.ring"])
    assert (tmp_path / "base").exists() != cleanup


def test_what_is_configured_reaches_the_native_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked memory that cannot be had fails there, and with it the attach: nothing is downgraded in silence."""
    seen: dict[str, object] = {}

    class Recorder:
        @staticmethod
        def create(folder: str, **options: object) -> None:
            seen.update(options)
            raise FramegateError("not locked")

    monkeypatch.setattr(regions, "PoolRegions", Recorder)
    maker = NativeMaker(allowed=tmp_path, mode=0o660, lock=True)
    store = RegionStore(RegionFolders(tmp_path, "default", 0o660), maker)
    failed = store.provision(order(5))
    assert "not locked" in getattr(failed, "reason", "")
    assert (seen["mode"], seen["lock"], seen["stream_id"], seen["epoch"]) == (0o660, True, 7, 5)
    assert (seen["nslots"], seen["pools"]) == (2, [(1, 64)])


@pytest.mark.parametrize("number", sorted(DRIVER_ERROR_EXAMPLES))
def test_the_errors_of_the_driver_are_raised(number: int) -> None:
    with pytest.raises(FramegateError) as caught:
        DRIVER_ERROR_EXAMPLES[number]()
    assert (caught.value.code, caught.value.exit_code) == (number, 3)
