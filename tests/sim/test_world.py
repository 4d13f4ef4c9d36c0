# SPDX-License-Identifier: Apache-2.0
"""A few seeds of the simulator in the usual run; `make sim` runs many."""

from __future__ import annotations

import pytest

from tests.sim.world import Broken, CanaryWorld, World


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_faulty_network_loses_nothing_it_does_not_count(seed: int) -> None:
    World(seed).run()


def test_a_receiver_that_drops_in_silence_is_found() -> None:
    with pytest.raises(Broken, match="missing"):
        CanaryWorld(1).run()


def test_a_seed_repeats_its_run() -> None:
    first, second = World(7), World(7)
    first.run()
    second.run()
    assert [receiver.got for receiver in first.receivers] == [receiver.got for receiver in second.receivers]
