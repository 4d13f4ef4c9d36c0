# SPDX-License-Identifier: Apache-2.0
"""The exchange of MergeMaps at the edge: an authority and any number of followers on a client's control stream.

It rides on a ``framegate.shmpool.client.client.Client``: its thread hears, decides and sends. No lease is needed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from framegate.joinbarrier.maps.authority import ANNOUNCE_PERIOD_NS, Announce, AuthorityAction, MapAuthority
from framegate.joinbarrier.maps.client import Ask, ClientAction, MapClient
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.messages import Announced, Requested, hear
from framegate.schema import Message
from framegate.schema.errors import JoinError, MessageError, TwoAuthorities
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.control_outbox import ControlOutbox
from framegate.shmpool.client.link import Link
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.interface import Received

OnAction: TypeAlias = Callable[[ClientAction], None]
OnConflict: TypeAlias = Callable[[TwoAuthorities], None]
_log = logging.getLogger(__name__)


class MapExchange:
    """A member of a client; ``close`` ends it, and so does the client's end.

    ``on_conflict`` hears of another authority for an output that is owned here; it is called on the client's thread.
    """

    def __init__(
        self,
        client: Client,
        *,
        announce_period_ns: int = ANNOUNCE_PERIOD_NS,
        on_conflict: OnConflict | None = None,
    ) -> None:
        self.authority = MapAuthority(announce_period_ns=announce_period_ns)
        self.counts = Counter[str]()
        self._client = client
        self._on_conflict = on_conflict or _warn
        self._followers: list[tuple[MapClient, OnAction]] = []
        self._outbox = ControlOutbox(self.counts)
        client.listen(self)

    # --- for users ---------------------------------------------------------------------------------------

    def own(self, owned: MergeMap, *, is_any_epoch: bool = False) -> None:
        """Announce this map from now on, and answer requests for it, or with ``is_any_epoch`` for all its epochs."""
        with self._client.turn:
            self.authority.own(owned, is_any_epoch=is_any_epoch)

    def disown(self, out_stream: int) -> None:
        """Announce nothing of this output any longer."""
        with self._client.turn:
            self.authority.disown(out_stream)

    def follow(self, map_client: MapClient, on_action: OnAction) -> None:
        """Keep a stage's map: ``on_action`` is told what to do, in order, on the client's thread; keep it short."""
        with self._client.turn:
            self._followers.append((map_client, on_action))

    def new_epoch(self, map_client: MapClient, epoch: int) -> None:
        """The output of a follower began anew."""
        with self._client.turn:
            self._tell(map_client, map_client.new_epoch(epoch, monotonic_ns()))

    def refuse(self, map_client: MapClient, refused: MergeMap, refusal: JoinError) -> None:
        """A follower's stage could not apply a map that the exchange gave it: the asking goes on."""
        with self._client.turn:
            self._tell(map_client, map_client.on_refused(refusal, monotonic_ns(), refused))

    def unfollow(self, map_client: MapClient) -> None:
        """The stage has ended."""
        with self._client.turn:
            self._followers = [each for each in self._followers if each[0] is not map_client]

    def counters(self) -> dict[str, int]:
        """What was said and heard, by kind; only what occurred."""
        with self._client.turn:
            return dict(sorted((self.authority.counts + self.counts).items()))

    def close(self) -> None:
        """Be silent from now on. Idempotent."""
        with self._client.turn:
            self._client.remove(self)
            self._outbox.close()

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """A new Aeron client: nobody has heard us on it yet."""
        self._outbox.open(link)
        self.authority.announce_anew()
        for map_client, _ in self._followers:
            map_client.ask_anew()

    def on_link_lost(self, _reason: str) -> None:
        """Maps stay: they are soft state, and hold until another is heard."""
        self._outbox.lose()

    def on_message(self, message: Message, now_ns: int) -> None:
        """Messages of other streams are not for us; those of the control stream come by ``on_control``."""

    def on_control(self, received: Received, now_ns: int) -> None:
        """One message of the control stream, as it came."""
        try:
            heard = hear(received.data)
        except MessageError as failure:
            # Cut, or of a version that is not ours: its sender's affair, and no map.
            self.counts["unreadable"] += 1
            _log.debug("a MergeMap message cannot be read: %s", failure)
            return
        if isinstance(heard, Requested):
            self._carry_out(self.authority.on_request(heard))
        elif isinstance(heard, Announced):
            if received.session_id != self._outbox.session_id:
                self._carry_out(self.authority.on_announce(heard, received.session_id))
            for map_client, _ in list(self._followers):
                self._tell(map_client, map_client.on_announce(heard, now_ns))

    def on_tick(self, now_ns: int) -> None:
        """Say what is due."""
        self._outbox.flush()
        self._carry_out(self.authority.on_tick(now_ns))
        for map_client, _ in list(self._followers):
            self._tell(map_client, map_client.on_tick(now_ns))

    def _carry_out(self, actions: list[AuthorityAction]) -> None:
        for action in actions:
            if isinstance(action, Announce):
                self._outbox.send(action.map.to_message())
            else:
                self._on_conflict(action.error)

    def _tell(self, map_client: MapClient, actions: list[ClientAction]) -> None:
        for action in actions:
            if isinstance(action, Ask):
                self._outbox.send(action.request)
            else:
                for follower, on_action in list(self._followers):
                    if follower is map_client:
                        on_action(action)

    def __str__(self) -> str:
        return "exchange of MergeMaps"


def _warn(conflict: TwoAuthorities) -> None:
    _log.warning("%s", conflict)
