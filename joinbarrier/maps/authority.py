# SPDX-License-Identifier: Apache-2.0
"""The authority of MergeMaps: it announces the maps of the outputs that it owns, and answers requests (PROTOCOL 11.3).

A pure state machine, keyed by output. The rules belong to an output, and hold in each of its epochs. The authority
announces only one epoch of an output by itself: the one that was requested last. It never takes over a map that another
authority announces. An output has one owner; a second one is a mistake and is reported.

>>> from framegate.joinbarrier.maps.mergemap import SequenceRule
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
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.messages import Announced, Pair, Requested
from framegate.joinbarrier.maps.text import described
from framegate.schema.errors import TwoAuthorities

ANNOUNCE_PERIOD_NS: Final = 1_000_000_000
REPORTS_MAX: Final = 64
"""How many conflicts are reported one by one. Beyond them only the counter goes on."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Send this map on the control stream."""

    map: MergeMap


@dataclass(frozen=True, slots=True)
class Conflict:
    """Report another authority for an owned output. Each combination of map and sender is reported once."""

    error: TwoAuthorities


AuthorityAction: TypeAlias = Announce | Conflict
_Seen: TypeAlias = tuple[Pair, int, MergeMap | str | None]


@dataclass(slots=True)
class _Output:
    """One owned output: its rules, in the epoch that is announced."""

    map: MergeMap
    is_any_epoch: bool
    due_ns: int | None = None
    """When it is announced next; None at the next tick."""


class MapAuthority:
    """Owns the maps of some outputs."""

    def __init__(self, *, announce_period_ns: int = ANNOUNCE_PERIOD_NS) -> None:
        self.counts = Counter[str]()
        self._period_ns = announce_period_ns
        self._outputs: dict[int, _Output] = {}
        self._reported: set[_Seen] = set()

    @property
    def maps(self) -> tuple[MergeMap, ...]:
        """One map of each owned output, in the epoch that is announced."""
        return tuple(each.map for each in self._outputs.values())

    def own(self, owned: MergeMap, *, is_any_epoch: bool = False) -> None:
        """Own an output from now on, or give it another map or epoch. The map is announced at the next tick.

        With ``is_any_epoch`` the same rules hold in every epoch of the output. A request for another epoch is answered,
        and that epoch is announced from then on. Without it, requests for other epochs get no answer.
        """
        known = self._outputs.get(owned.out_stream)
        if known is None or (known.map, known.is_any_epoch) != (owned, is_any_epoch):
            self._outputs[owned.out_stream] = _Output(owned, is_any_epoch)

    def disown(self, out_stream: int) -> None:
        """Stop announcing an output. An output that is not owned is ignored."""
        self._outputs.pop(out_stream, None)

    def announce_anew(self) -> None:
        """Announce everything again at the next tick, because nobody received earlier announces."""
        for each in self._outputs.values():
            each.due_ns = None

    def on_request(self, request: Requested) -> list[AuthorityAction]:
        """Answer with the map of that pair and kind. Requests for outputs that are not owned here get no answer."""
        out_stream, epoch = request.pair
        output = self._outputs.get(out_stream)
        if output is None or not (output.is_any_epoch or output.map.epoch == epoch):
            self.counts["unknown_pairs"] += 1
            return []
        if output.map.is_by_timestamp is not request.is_by_timestamp:
            self.counts["other_kind"] += 1
            return []
        if output.map.epoch != epoch:
            output.map = replace(output.map, epoch=epoch)
        self.counts["answers"] += 1
        return [Announce(output.map)]

    def on_announce(self, announced: Announced, session_id: int) -> list[AuthorityAction]:
        """Handle an announce of another authority, which is identified by the session of its publication."""
        out_stream, epoch = announced.pair
        output = self._outputs.get(out_stream)
        if output is None or not (output.is_any_epoch or output.map.epoch == epoch):
            return []
        self.counts["conflicts"] += 1
        theirs = announced.map or str(announced.refusal and announced.refusal.facts["reason"])
        seen: _Seen = (announced.pair, session_id, theirs)
        if seen in self._reported or len(self._reported) >= REPORTS_MAX:
            return []
        self._reported.add(seen)
        return [Conflict(_conflict(output.map, announced, session_id))]

    def on_tick(self, now_ns: int) -> list[AuthorityAction]:
        """Announce what is due: a new map at once, then once a period."""
        return list(self._due(now_ns))

    def _due(self, now_ns: int) -> Iterator[Announce]:
        for output in self._outputs.values():
            if output.due_ns is None or now_ns >= output.due_ns:
                output.due_ns = now_ns + self._period_ns
                self.counts["announces"] += 1
                yield Announce(output.map)


def _conflict(owned: MergeMap, announced: Announced, session_id: int) -> TwoAuthorities:
    if announced.map is None:
        message, theirs = "another authority announces an invalid map", f"refused: {announced.refusal}".split("\n")[0]
    else:
        is_same = announced.map == replace(owned, epoch=announced.map.epoch)
        message = f"another authority announces {'the same' if is_same else 'another'} map"
        theirs = described(announced.map)
    out_stream, epoch = announced.pair
    return TwoAuthorities(
        message, out_stream=out_stream, epoch=epoch, ours=described(owned), theirs=theirs, session=session_id
    )
