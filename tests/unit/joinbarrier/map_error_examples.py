# SPDX-License-Identifier: Apache-2.0
"""How product code comes to raise each error of the exchange of MergeMaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from framegate.joinbarrier.commands.map_options import RequestOptions
from framegate.joinbarrier.commands.map_request import Answers
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.contradiction import contradiction
from framegate.joinbarrier.maps.authority import Conflict, MapAuthority
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule
from framegate.joinbarrier.maps.messages import Announced


def _hear_another_authority() -> None:
    authority = MapAuthority()
    authority.own(MergeMap(20001, 1, [SequenceRule(10001, offset=0)]))
    theirs = MergeMap(20001, 1, [SequenceRule(10001, offset=-2)])
    (conflict,) = authority.on_announce(Announced((20001, 1), False, map=theirs), 7)
    assert isinstance(conflict, Conflict)
    raise conflict.error


def _wait_for_a_map_that_nobody_has() -> None:
    Answers().expire(RequestOptions(out_stream=20001, timeout_s=0))


def _contradict_a_file() -> None:
    config = JoinConfig.model_validate({"input": [{"name": "left", "stream": 10001, "offset": 0}]})
    error = contradiction(config, MergeMap(20001, 1, [SequenceRule(10001, offset=-2)]))
    assert error is not None
    raise error


MAP_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    410: _hear_another_authority,
    411: _wait_for_a_map_that_nobody_has,
    412: _contradict_a_file,
}
