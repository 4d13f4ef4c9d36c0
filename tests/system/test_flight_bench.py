# SPDX-License-Identifier: Apache-2.0
"""The measurement of the journal's server, in its short form: it gives its figure and leaves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.system.test_join_bench import measured

if TYPE_CHECKING:
    from tests.system.conftest import System


def test_the_short_measurement_of_flight_gives_a_figure(system: System, shm: Path) -> None:
    (result,) = measured(system, shm, "flight")
    assert result["measured"] > 0
    assert result["target"] == 0.8
