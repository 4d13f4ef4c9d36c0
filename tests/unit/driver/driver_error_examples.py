# SPDX-License-Identifier: Apache-2.0
"""How product code comes to raise each error of the lease driver."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.driver.configuration import DriverConfig, ShmSection
from framegate.driver.driver_lock import DriverLock
from framegate.driver.lease_service import claimed
from framegate.driver.region_folders import RegionFolders


def _start_a_second_driver() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = (RegionFolders(Path(folder), "default") for _ in range(2))
        with DriverLock(first), DriverLock(second):
            pass


def _require_huge_pages_where_there_are_none() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = DriverConfig(shm=ShmSection(base_dir=folder, require_hugepages=True))
        with claimed(config):
            pass


DRIVER_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    220: _start_a_second_driver,
    221: _require_huge_pages_where_there_are_none,
}
