# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap request``: ask for one map until it is answered, or hear which one is announced; print it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from typing import Final, NoReturn

from framegate.joinbarrier.commands.map_options import RequestOptions, ShowOptions
from framegate.joinbarrier.commands.map_show import MapWatch
from framegate.joinbarrier.maps.client import Apply, ClientAction, MapClient, Refused
from framegate.joinbarrier.maps.exchange import MapExchange
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.text import as_object, described, titled
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, Interrupted, JoinError, NoMapAnnounced
from framegate.shmpool.client.client import Client
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal

_LOOK_AGAIN_S: Final = 0.005
_log = logging.getLogger(__name__)


class Answers:
    """What the stage was told, for the main thread to look at."""

    def __init__(self) -> None:
        self.map: MergeMap | None = None
        self.refusal: JoinError | None = None

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
    with StopSignal() as stop, options.connect() as client:
        found = _heard(options, client, stop) if options.epoch is None else _asked(options, options.epoch, client, stop)
    names = client.names.by_number()
    if options.json:
        emit({"event": "map", **as_object(found, names)})
    else:
        print(f"{titled(found.out_stream, found.epoch, names)}: {described(found, names)}")
    return DONE


def _asked(options: RequestOptions, epoch: int, client: Client, stop: StopSignal) -> MergeMap:
    """The map of one epoch, asked for until it is answered."""
    answers = Answers()
    with closing(MapExchange(client)) as exchange:
        exchange.follow(
            MapClient(options.out_stream, epoch, ("timestamp" if options.timestamp else "sequence",)), answers.take
        )
        return _waited(options, stop, lambda: answers.map, answers)


def _heard(options: RequestOptions, client: Client, stop: StopSignal) -> MergeMap:
    """The map of the epoch that runs: its authority announces that one by itself, and is not asked for another."""
    answers = Answers()
    wanted = ShowOptions(out_stream=options.out_stream)

    def look() -> MergeMap | None:
        with client.turn:
            heard = list(watch.heard.values())
        for each in heard:
            if each.refusal is not None:
                answers.refusal = each.refusal
            elif each.is_by_timestamp or not options.timestamp:
                return each.map
        return None

    with closing(MapWatch(client, wanted)) as watch:
        return _waited(options, stop, look, answers)


def _waited(
    options: RequestOptions, stop: StopSignal, look: Callable[[], MergeMap | None], answers: Answers
) -> MergeMap:
    deadline_ns = monotonic_ns() + int(options.timeout_s * 1e9)
    while (found := look()) is None:
        if stop.wait(_LOOK_AGAIN_S):
            raise Interrupted("ended by the user before the map came", out_stream=options.out_stream)
        if monotonic_ns() >= deadline_ns:
            answers.expire(options)
    return found


def _unanswered(options: RequestOptions) -> NoMapAnnounced:
    return NoMapAnnounced(
        "nobody announced this map",
        out_stream=options.out_stream,
        epoch="any" if options.epoch is None else options.epoch,
        kind="timestamp" if options.timestamp else "sequence" if options.epoch is not None else "any",
        waited_s=options.timeout_s,
    )
