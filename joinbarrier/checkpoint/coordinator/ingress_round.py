# SPDX-License-Identifier: Apache-2.0
"""Streams whose producers cannot inject, and that several agents cut: the coordinator fixes one place for all (P10).

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
"""The epoch of a stream's regions (None: none are read), and the last sequence taken of it (None: none)."""
STREAMS_MAX: Final = 128
"""Of one operator: no agent has more inputs."""


class IngressStreams:
    """Which operators cut which streams by themselves, as they say before each hello."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._all: dict[str, tuple[int, set[int]]] = {}

    def declare(self, operator_id: str, instance_id: int, stream_id: int, known: Iterable[str]) -> bool:
        """One stream of one operator; whether it was noted. ``known``: those that said hello.

        An operator is heard here before its first hello, so who never says one must not take the others' room.
        """
        if operator_id not in self._all and len(self._all) >= self._limit:
            self._all = {name: self._all[name] for name in known if name in self._all}
        instance, streams = self._all.get(operator_id, (instance_id, set()))
        if instance != instance_id:
            # Another life, perhaps by another configuration.
            streams = set()
        is_room = len(self._all) < self._limit or operator_id in self._all
        if not is_room or (len(streams) >= STREAMS_MAX and stream_id not in streams):
            return False
        self._all[operator_id] = instance_id, streams | {stream_id}
        return True

    def confirm(self, operator_id: str, instance_id: int) -> None:
        """It says hello, and has said its streams before: those of another life are not its own."""
        if operator_id in self._all and self._all[operator_id][0] != instance_id:
            del self._all[operator_id]

    def forget(self, operator_id: str) -> None:
        """It has left."""
        self._all.pop(operator_id, None)

    def shared_by(self, operators: Iterable[str]) -> dict[int, tuple[str, ...]]:
        """Streams that at least two of these cut, and who they are."""
        sharers: dict[int, list[str]] = {}
        for name in sorted(operators):
            for stream in self._all.get(name, (0, set()))[1]:
                sharers.setdefault(stream, []).append(name)
        return {stream: tuple(names) for stream, names in sorted(sharers.items()) if len(names) > 1}


class IngressRound:
    """The places of one checkpoint. Agents hold where they stand, so the highest place is before all of them."""

    def __init__(self, shared: Mapping[int, tuple[str, ...]]) -> None:
        self._places: dict[int, dict[str, Place | None]] = {
            stream: dict.fromkeys(names) for stream, names in shared.items()
        }

    @property
    def streams(self) -> list[int]:
        """All shared ones."""
        return list(self._places)

    def say(self, operator_id: str, stream_id: int, place: Place) -> str:
        """An agent stands there. Why no place can be fixed, for people; empty: it still can.

        What it says of a stream that it does not share means nothing, and so does its second word.
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
        """Whether everybody has said where it stands."""
        return all(place is not None for said in self._places.values() for place in said.values())

    @property
    def cuts(self) -> dict[int, Place]:
        """Where each stream is cut, once everybody has said where it stands."""
        return {
            stream: max((place for place in said.values() if place is not None), key=_seq)
            for stream, said in self._places.items()
        }

    def owed(self) -> str:
        """Who has not said where it stands, for people."""
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
