# SPDX-License-Identifier: Apache-2.0
"""A stage that needs a MergeMap: asks until it is answered, and says when the barrier must stop and may go on.

A pure state machine for one output. Without a valid map the stage is blocked: at the start, in a new epoch, and from an
invalid announce until a valid one comes (PROTOCOL 11.3). What it says must be carried out in its order.

>>> client = MapClient(20001, 1)
>>> [type(action).__name__ for action in client.on_tick(0)]
['Ask']
>>> client.on_tick(50_000_000)
[]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.messages import Announced, MapKind, Pair, Request, kind_of, request_for
from framegate.schema.errors import JoinError

ASK_AGAIN_NS: Final = 100_000_000
ASK_AGAIN_MAX_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this request on the control stream."""

    request: Request


@dataclass(frozen=True, slots=True)
class Invalidate:
    """The map that was applied no longer holds: no output is ready until another is applied."""


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply this map."""

    map: MergeMap


@dataclass(frozen=True, slots=True)
class Refused:
    """A map for this output breaks a rule, or the stage could not apply it; the error says why. Told once for each."""

    error: JoinError


ClientAction: TypeAlias = Ask | Invalidate | Apply | Refused


class MapClient:
    """Follows the map of one output in one epoch. ``kinds`` are the kinds of map that its stage takes."""

    def __init__(
        self,
        out_stream: int,
        epoch: int,
        kinds: Sequence[MapKind] = ("sequence",),
        *,
        ask_again_ns: int = ASK_AGAIN_NS,
        ask_again_max_ns: int = ASK_AGAIN_MAX_NS,
    ) -> None:
        self.out_stream = out_stream
        self.epoch = epoch
        self.kinds = tuple(kinds)
        self.map: MergeMap | None = None
        """The map that holds now; None while the stage is blocked."""
        self.refusal: JoinError | None = None
        """Why the last map was refused; None once a valid one came."""
        self._refused: tuple[MergeMap, JoinError] | None = None
        """The map that the stage could not apply, and why: announced again, it is not given to the stage again."""
        self._next_kind = 0
        self.counts = Counter[str]()
        self._first_pause_ns = ask_again_ns
        self._longest_pause_ns = ask_again_max_ns
        self._pause_ns = ask_again_ns
        self._ask_at_ns: int | None = None

    @property
    def pair(self) -> Pair:
        """What it follows."""
        return self.out_stream, self.epoch

    def on_tick(self, now_ns: int) -> list[ClientAction]:
        """Ask while there is no valid map, with longer and longer pauses: for one kind after the other."""
        if self.map is not None or (self._ask_at_ns is not None and now_ns < self._ask_at_ns):
            return []
        self._pause(now_ns)
        self.counts["requests"] += 1
        kind = self.kinds[self._next_kind % len(self.kinds)]
        self._next_kind += 1
        return [Ask(request_for(self.pair, is_by_timestamp=kind == "timestamp"))]

    def on_announce(self, announced: Announced, now_ns: int) -> list[ClientAction]:
        """An announce was heard, ours or another output's."""
        if announced.pair != self.pair:
            self.counts["other_pairs"] += 1
            return []
        if kind_of(is_by_timestamp=announced.is_by_timestamp) not in self.kinds:
            self.counts["other_kind"] += 1
            return []
        if announced.map is None:
            assert announced.refusal is not None  # noqa: S101 - an announce has one of the two
            return self.on_refused(announced.refusal, now_ns)
        return self._on_valid(announced.map, now_ns)

    def on_refused(self, refusal: JoinError, now_ns: int, refused: MergeMap | None = None) -> list[ClientAction]:
        """A map for this output is invalid, or the stage could not apply ``refused``: blocked until another comes."""
        if refused is not None:
            self._refused = refused, refusal
            if self.map is not None and self.map != refused:
                # Another one came before the stage got round to saying so.
                return []
        self.counts["refused"] += 1
        is_known = self.refusal is not None and (self.refusal.code, self.refusal.facts) == (refusal.code, refusal.facts)
        self.refusal = refusal
        stop = self._stop(now_ns)
        return stop if is_known and not stop else [*stop, Refused(refusal)]

    def new_epoch(self, epoch: int, now_ns: int) -> list[ClientAction]:
        """The output began anew: the map of before does not hold for it, and is asked for anew at once."""
        if epoch == self.epoch:
            return []
        self.epoch, self.refusal, self._refused = epoch, None, None
        stop = self._stop(now_ns)
        self.ask_anew()
        return stop

    def ask_anew(self) -> None:
        """Ask at the next tick, if there is no map: nobody heard the requests so far."""
        self._ask_at_ns, self._pause_ns = None, self._first_pause_ns

    def _on_valid(self, found: MergeMap, now_ns: int) -> list[ClientAction]:
        if self.map == found:
            self.counts["identical"] += 1
            return []
        if self._refused is not None and found == self._refused[0]:
            return self.on_refused(self._refused[1], now_ns)
        before: list[ClientAction] = [] if self.map is None else [Invalidate()]
        self.map, self.refusal = found, None
        self.counts["applied"] += 1
        return [*before, Apply(found)]

    def _stop(self, now_ns: int) -> list[ClientAction]:
        if self.map is None:
            return []
        self.map = None
        # Not at once: who answers with an invalid map would otherwise be asked as fast as it answers.
        self._pause_ns = self._first_pause_ns
        self._pause(now_ns)
        return [Invalidate()]

    def _pause(self, now_ns: int) -> None:
        self._ask_at_ns = now_ns + self._pause_ns
        self._pause_ns = min(self._pause_ns * 2, self._longest_pause_ns)
