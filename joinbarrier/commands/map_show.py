# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap show``: listen on the control stream, and print every map that is announced there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from operator import itemgetter
from typing import Any, Final, TypeAlias

from framegate.joinbarrier.commands.map_options import ShowOptions
from framegate.joinbarrier.maps.messages import Announced, hear
from framegate.joinbarrier.maps.text import as_object, described, titled
from framegate.schema import Message
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, MessageError, NoMapAnnounced
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.stop_signal import StopSignal
from framegate.shmpool.transport.interface import Received

HEARD_MAX: Final = 4096
"""Different announces that are kept; a peer that makes up more does not fill this process."""
_Key: TypeAlias = tuple[int, int, bool, int]


class MapWatch:
    """Hears announces and keeps the newest of each output, kind and sender. A listener of a client."""

    def __init__(self, client: Client, options: ShowOptions) -> None:
        self.heard: dict[_Key, Announced] = {}
        self._options = options
        self._client = client
        client.listen(self)

    def on_control(self, received: Received, _now_ns: int) -> None:
        """Keep it if it is a map that is asked for."""
        try:
            found = hear(received.data)
        except MessageError:
            return
        if not isinstance(found, Announced) or not self._is_wanted(found):
            return
        key = (*found.pair, found.is_by_timestamp, received.session_id)
        if key in self.heard or len(self.heard) < HEARD_MAX:
            self.heard[key] = found

    def _is_wanted(self, found: Announced) -> bool:
        wanted = self._options.out_stream, self._options.epoch
        return all(want is None or want == have for want, have in zip(wanted, found.pair, strict=True))

    def on_link(self, _link: Link) -> None:
        """Listening needs nothing of one's own."""

    def on_link_lost(self, reason: str) -> None:
        """What was heard stays heard."""

    def on_message(self, message: Message, now_ns: int) -> None:
        """Announces come by ``on_control``, with their sender."""

    def on_tick(self, now_ns: int) -> None:
        """Nothing is due."""

    def close(self) -> None:
        """Idempotent."""
        self._client.remove(self)


def run(options: ShowOptions) -> int:
    """Listen and print; the exit code."""
    with StopSignal() as stop, options.connect() as client, closing(MapWatch(client, options)) as watch:
        stop.listen()
        if options.json:
            emit({"event": "ready", "pid": os.getpid(), "aeron_dir": client.aeron_dir})
        was_stopped = stop.wait(options.seconds)
        with client.turn:
            heard = sorted(watch.heard.items(), key=itemgetter(0))
    names = client.names.by_number()
    if options.json:
        for key, each in heard:
            emit({"event": "map", **_as_object(each, names), "session": key[-1]})
        emit({"event": "summary", "maps": len(heard)})
    else:
        for key, each in heard:
            print(f"{_as_text(each, names)} (by {key[-1]})")
        if any(key[2] and each.map is not None for key, each in heard):
            # They are no part of a map (PROTOCOL 11): each join that follows it has its own.
            print(
                "Each join has its own pick, reuse, tolerance_ns and deadline_ms; see `framegate mergemap check FILE`."
            )
        if not heard:
            print("no map was announced")
    if not heard and options.out_stream is not None and not was_stopped:
        epoch = "any" if options.epoch is None else options.epoch
        raise NoMapAnnounced(
            "nobody announced this map", out_stream=options.out_stream, epoch=epoch, listened_s=options.seconds
        )
    return DONE


def _as_object(found: Announced, names: Mapping[int, str]) -> dict[str, Any]:
    if found.map is not None:
        return as_object(found.map, names)
    assert found.refusal is not None  # noqa: S101 - an announce has one of the two
    kind = "timestamp" if found.is_by_timestamp else "sequence"
    out_stream, epoch = found.pair
    return {
        "out_stream": out_stream,
        "out_name": names.get(out_stream),
        "epoch": epoch,
        "kind": kind,
        "refused": found.refusal.message,
        "facts": dict(found.refusal.facts),
    }


def _as_text(found: Announced, names: Mapping[int, str]) -> str:
    rules = "" if found.map is None else described(found.map, names)
    if found.refusal is not None:
        rules = f"refused: {found.refusal.message}"
    return f"{titled(*found.pair, names)}: {rules}"
