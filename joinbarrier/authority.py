# SPDX-License-Identifier: Apache-2.0
"""The authority of MergeMaps: who owns an output announces its map, and answers whoever asks for it (PROTOCOL 11.3).

A pure state machine. It never takes over what another authority announces: an output has one owner, and two are a
mistake that somebody must hear of.

>>> from framegate.joinbarrier.mergemap import SequenceRule
>>> authority = MapAuthority()
>>> authority.own(MergeMap(20001, 1, [SequenceRule(10001, offset=0)]))
>>> [type(action).__name__ for action in authority.on_request(Requested((20001, 1), False))]
['Announce']
>>> authority.on_request(Requested((20002, 1), False)), authority.counts["unknown_pairs"]
([], 1)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from framegate.joinbarrier.map_messages import Announced, Pair, Requested
from framegate.joinbarrier.map_text import described
from framegate.joinbarrier.mergemap import MergeMap
from framegate.schema.errors import TwoAuthorities

ANNOUNCE_PERIOD_NS: Final = 1_000_000_000
REPORTS_MAX: Final = 64
"""Conflicts that are reported one by one. Beyond them the counter alone goes on."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Send this map on the control stream."""

    map: MergeMap


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another authority was heard for an output that is owned here. Told once for each other map and sender."""

    error: TwoAuthorities


AuthorityAction: TypeAlias = Announce | Conflict
_Seen: TypeAlias = tuple[Pair, int, MergeMap | str | None]


class MapAuthority:
    """Owns the maps of some outputs."""

    def __init__(self, *, announce_period_ns: int = ANNOUNCE_PERIOD_NS) -> None:
        self.counts = Counter[str]()
        self._period_ns = announce_period_ns
        self._maps: dict[Pair, MergeMap] = {}
        self._due_ns: dict[Pair, int] = {}
        self._reported: set[_Seen] = set()

    @property
    def maps(self) -> tuple[MergeMap, ...]:
        """What is owned, in the order it came."""
        return tuple(self._maps.values())

    def own(self, owned: MergeMap) -> None:
        """Own an output from now on, or give it another map. It is announced at the next tick."""
        pair = owned.out_stream, owned.epoch
        if self._maps.get(pair) != owned:
            self._maps[pair] = owned
            self._due_ns.pop(pair, None)

    def disown(self, pair: Pair) -> None:
        """Say no more about an output: its epoch is over. Unknown ones are none."""
        self._maps.pop(pair, None)
        self._due_ns.pop(pair, None)

    def announce_anew(self) -> None:
        """Nobody heard what was announced so far: all of it is due."""
        self._due_ns.clear()

    def on_request(self, request: Requested) -> list[AuthorityAction]:
        """Answer with the map of exactly that pair and kind; about others another authority speaks, or nobody."""
        owned = self._maps.get(request.pair)
        if owned is None:
            self.counts["unknown_pairs"] += 1
            return []
        if owned.is_by_timestamp is not request.is_by_timestamp:
            self.counts["other_kind"] += 1
            return []
        self.counts["answers"] += 1
        return [Announce(owned)]

    def on_announce(self, announced: Announced, session_id: int) -> list[AuthorityAction]:
        """An announce by somebody else, who is told apart by the session of the publication."""
        owned = self._maps.get(announced.pair)
        if owned is None:
            return []
        self.counts["conflicts"] += 1
        theirs = announced.map or str(announced.refusal and announced.refusal.facts["reason"])
        seen: _Seen = (announced.pair, session_id, theirs)
        if seen in self._reported or len(self._reported) >= REPORTS_MAX:
            return []
        self._reported.add(seen)
        return [Conflict(_conflict(owned, announced, session_id))]

    def on_tick(self, now_ns: int) -> list[AuthorityAction]:
        """Announce what is due: at first at once, then once a period."""
        return list(self._due(now_ns))

    def _due(self, now_ns: int) -> Iterator[Announce]:
        for pair, owned in self._maps.items():
            if now_ns >= self._due_ns.get(pair, now_ns):
                self._due_ns[pair] = now_ns + self._period_ns
                self.counts["announces"] += 1
                yield Announce(owned)


def _conflict(owned: MergeMap, announced: Announced, session_id: int) -> TwoAuthorities:
    if announced.map is None:
        message, theirs = "another authority announces an invalid map", f"refused: {announced.refusal}".split("\n")[0]
    else:
        is_same = announced.map == owned
        message = f"another authority announces {'the same' if is_same else 'another'} map"
        theirs = described(announced.map)
    out_stream, epoch = announced.pair
    return TwoAuthorities(
        message, out_stream=out_stream, epoch=epoch, ours=described(owned), theirs=theirs, session=session_id
    )
