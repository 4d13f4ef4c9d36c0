# SPDX-License-Identifier: Apache-2.0
"""The client of MergeMaps: it asks until it gets the map of an output, and says when the join must stop and may go on.

A pure state machine for one output. Without a valid map the stage is blocked: at the start, in a new epoch, and from an
invalid announce until a valid one arrives (PROTOCOL 11.3). Its actions must be carried out in order.

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
    """Withdraw the applied map: no output is ready until another map is applied."""


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply this map."""

    map: MergeMap


@dataclass(frozen=True, slots=True)
class Refused:
    """Report a map that breaks a rule, or that the stage could not apply. Each map is reported once."""

    error: JoinError


ClientAction: TypeAlias = Ask | Invalidate | Apply | Refused


class MapClient:
    """Follows the map of one output in one epoch. ``kinds`` are the kinds of map that its stage accepts."""

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
        """The map that is in force; None while the stage is blocked."""
        self.refusal: JoinError | None = None
        """Why the last map was refused; None once a valid map arrives."""
        self._refused: tuple[MergeMap, JoinError] | None = None
        """The map that the stage could not apply, and why. If it is announced again, the stage does not get it
        again."""
        self._next_kind = 0
        self.counts = Counter[str]()
        self._first_pause_ns = ask_again_ns
        self._longest_pause_ns = ask_again_max_ns
        self._pause_ns = ask_again_ns
        self._ask_at_ns: int | None = None

    @property
    def pair(self) -> Pair:
        """The output stream and epoch that this client follows."""
        return self.out_stream, self.epoch

    def on_tick(self, now_ns: int) -> list[ClientAction]:
        """Ask while there is no valid map, after longer and longer pauses. Requests alternate between the kinds of
        map."""
        if self.map is not None or (self._ask_at_ns is not None and now_ns < self._ask_at_ns):
            return []
        self._pause(now_ns)
        self.counts["requests"] += 1
        kind = self.kinds[self._next_kind % len(self.kinds)]
        self._next_kind += 1
        return [Ask(request_for(self.pair, is_by_timestamp=kind == "timestamp"))]

    def on_announce(self, announced: Announced, now_ns: int) -> list[ClientAction]:
        """Handle an announce, of this output or of another one."""
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
        """Note that a map is invalid, or that the stage could not apply ``refused``: it is blocked until another
        arrives."""
        if refused is not None:
            self._refused = refused, refusal
            if self.map is not None and self.map != refused:
                # Another map arrived before the stage reported this one.
                return []
        self.counts["refused"] += 1
        is_known = self.refusal is not None and (self.refusal.code, self.refusal.facts) == (refusal.code, refusal.facts)
        self.refusal = refusal
        stop = self._stop(now_ns)
        return stop if is_known and not stop else [*stop, Refused(refusal)]

    def new_epoch(self, epoch: int, now_ns: int) -> list[ClientAction]:
        """Begin a new epoch of the output: the old map does not hold in it, and a new one is requested at once."""
        if epoch == self.epoch:
            return []
        self.epoch, self.refusal, self._refused = epoch, None, None
        stop = self._stop(now_ns)
        self.ask_anew()
        return stop

    def ask_anew(self) -> None:
        """Ask at the next tick, if there is no map: nobody received earlier requests."""
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
        # Not at once: an authority that answers with an invalid map would be asked as fast as it answers.
        self._pause_ns = self._first_pause_ns
        self._pause(now_ns)
        return [Invalidate()]

    def _pause(self, now_ns: int) -> None:
        self._ask_at_ns = now_ns + self._pause_ns
        self._pause_ns = min(self._pause_ns * 2, self._longest_pause_ns)
