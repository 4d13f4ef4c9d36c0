# SPDX-License-Identifier: Apache-2.0
"""A lease driver that does what it must not: it keeps every MergeMap that it hears, and answers requests with it."""

from __future__ import annotations

import sys

from framegate.driver.agent import LeaseDriverAgent
from framegate.joinbarrier.maps.messages import Announced, Requested, hear

from framegate.__main__ import main

_as_it_should = LeaseDriverAgent._hear
_kept: dict[tuple[int, int], bytes] = {}


def _hear_and_keep(self: LeaseDriverAgent, data: bytes) -> int:
    found = hear(data)
    if isinstance(found, Announced):
        _kept[found.pair] = data
    elif isinstance(found, Requested) and found.pair in _kept:
        self._outbox.send(self._control, _kept[found.pair])
    return _as_it_should(self, data)


LeaseDriverAgent._hear = _hear_and_keep  # type: ignore[method-assign]
sys.argv[0] = "framegate"
sys.exit(main())
