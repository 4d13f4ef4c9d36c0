# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap request``: ask for one map until it is answered, and print it."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Final, NoReturn

from framegate.joinbarrier.map_client import Apply, ClientAction, MapClient, Refused
from framegate.joinbarrier.map_exchange import MapExchange
from framegate.joinbarrier.map_options import RequestOptions
from framegate.joinbarrier.map_text import as_object, described
from framegate.joinbarrier.mergemap import MergeMap
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, Interrupted, MapRefused, NoMapAnnounced
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal

_LOOK_AGAIN_S: Final = 0.005
_log = logging.getLogger(__name__)


class Answers:
    """What the stage was told, for the main thread to look at."""

    def __init__(self) -> None:
        self.map: MergeMap | None = None
        self.refusal: MapRefused | None = None

    def take(self, action: ClientAction) -> None:
        match action:
            case Apply(found) if self.map is None:
                self.map = found
            case Refused(error):
                self.refusal = error
                _log.warning("%s", error)

    def expire(self, options: RequestOptions) -> NoReturn:
        """The time is up: raise why there is no map."""
        raise self.refusal or _unanswered(options)


def run(options: RequestOptions) -> int:
    """Ask and print; the exit code."""
    with StopSignal() as stop, options.connect() as client, closing(MapExchange(client)) as exchange:
        answers = Answers()
        wanted = MapClient(options.out_stream, options.epoch, is_by_timestamp=options.timestamp)
        deadline_ns = monotonic_ns() + int(options.timeout_s * 1e9)
        exchange.follow(wanted, answers.take)
        while answers.map is None:
            if stop.wait(_LOOK_AGAIN_S):
                raise Interrupted("ended by the user before the map came", out_stream=options.out_stream)
            if monotonic_ns() >= deadline_ns:
                answers.expire(options)
    if options.json:
        emit({"event": "map", **as_object(answers.map)})
    else:
        print(f"output {answers.map.out_stream}, epoch {answers.map.epoch}: {described(answers.map)}")
    return DONE


def _unanswered(options: RequestOptions) -> NoMapAnnounced:
    return NoMapAnnounced(
        "nobody announced this map",
        out_stream=options.out_stream,
        epoch=options.epoch,
        kind="timestamp" if options.timestamp else "sequence",
        waited_s=options.timeout_s,
    )
