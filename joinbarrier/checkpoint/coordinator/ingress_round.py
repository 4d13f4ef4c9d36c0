# SPDX-License-Identifier: Apache-2.0
"""Fixes one cut of a stream that several agents share and whose producer cannot inject barriers (P10).

>>> places = IngressRound({20: ("a", "b")})
>>> places.say("a", 20, (7, 10)), places.is_known
('', False)
>>> places.owed()
'b (stream 20)'
>>> places.say("b", 20, (7, 12)), places.cuts
('', {20: (7, 12)})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

Place: TypeAlias = tuple[int | None, int | None]
"""The epoch of a stream's regions (None: none are read), and the newest sequence taken of it (None: none was)."""
STREAMS_MAX: Final = 128
"""Most streams of one operator: no agent has more inputs."""


class IngressStreams:
    """Which operators cut which streams by themselves, as they say before each hello."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._all: dict[str, tuple[int, set[int]]] = {}

    def declare(self, operator_id: str, instance_id: int, stream_id: int, known: Iterable[str]) -> bool:
        """Note one stream of one operator; False if it is refused. ``known`` lists the operators that said hello.

        An operator is heard here before its first hello, so one that never says hello must not take up space for the
        others.
        """
        if operator_id not in self._all and len(self._all) >= self._limit:
            self._all = {name: self._all[name] for name in known if name in self._all}
        instance, streams = self._all.get(operator_id, (instance_id, set()))
        if instance != instance_id:
            # The operator was restarted, perhaps with another configuration.
            streams = set()
        is_room = len(self._all) < self._limit or operator_id in self._all
        if not is_room or (len(streams) >= STREAMS_MAX and stream_id not in streams):
            return False
        self._all[operator_id] = instance_id, streams | {stream_id}
        return True

    def confirm(self, operator_id: str, instance_id: int) -> None:
        """Drop the streams of an operator's earlier run, now that it says hello: it said its own streams before."""
        if operator_id in self._all and self._all[operator_id][0] != instance_id:
            del self._all[operator_id]

    def forget(self, operator_id: str) -> None:
        """Drop the streams of an operator that has left."""
        self._all.pop(operator_id, None)

    def shared_by(self, operators: Iterable[str]) -> dict[int, tuple[str, ...]]:
        """The streams that at least two of these operators cut, and by whom."""
        sharers: dict[int, list[str]] = {}
        for name in sorted(operators):
            for stream in self._all.get(name, (0, set()))[1]:
                sharers.setdefault(stream, []).append(name)
        return {stream: tuple(names) for stream, names in sorted(sharers.items()) if len(names) > 1}


class IngressRound:
    """The places of one checkpoint. Agents hold a stream where they stand, so the furthest place is not behind any of
    them.
    """

    def __init__(self, shared: Mapping[int, tuple[str, ...]]) -> None:
        self._places: dict[int, dict[str, Place | None]] = {
            stream: dict.fromkeys(names) for stream, names in shared.items()
        }

    @property
    def streams(self) -> list[int]:
        """All shared streams."""
        return list(self._places)

    def say(self, operator_id: str, stream_id: int, place: Place) -> str:
        """Note where an agent holds a stream. Return why no common place can be fixed, for people; empty if one still
        can.

        Streams that the agent does not share are ignored, and so is a second place of the same stream.
        """
        said = self._places.get(stream_id, {})
        if operator_id not in said or said[operator_id] is not None:
            return ""
        said[operator_id] = place
        for name, other in said.items():
            if other is not None and other[0] != place[0]:
                here = f"{operator_id} reads {_epoch(place)}, {name} {_epoch(other)}"
                return f"stream {stream_id}: {here}"
        return ""

    @property
    def is_known(self) -> bool:
        """Whether all agents have said where they hold their streams."""
        return all(place is not None for said in self._places.values() for place in said.values())

    @property
    def cuts(self) -> dict[int, Place]:
        """Where each stream is cut, once all agents have said where they hold it."""
        return {
            stream: max((place for place in said.values() if place is not None), key=_seq)
            for stream, said in self._places.items()
        }

    def owed(self) -> str:
        """List the agents that have not said where they hold a stream, for people."""
        return ", ".join(
            f"{name} (stream {stream})"
            for stream, said in self._places.items()
            for name, place in said.items()
            if place is None
        )


def _seq(place: Place) -> int:
    return -1 if place[1] is None else place[1]


def _epoch(place: Place) -> str:
    return "none of its epochs" if place[0] is None else f"epoch {place[0]}"
