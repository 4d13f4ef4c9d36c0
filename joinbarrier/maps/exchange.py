# SPDX-License-Identifier: Apache-2.0
"""The exchange of MergeMaps: an authority and any number of followers on a client's control stream.

It uses a ``framegate.shmpool.client.client.Client``, whose thread receives, decides and sends. No lease is needed.
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
    """The exchange of one client. ``close`` ends it, and so does the end of the client.

    The client's thread calls ``on_conflict`` when another authority announces an output that is owned here.
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
        """Announce this map from now on, and answer requests for it; with ``is_any_epoch`` those for all its epochs."""
        with self._client.turn:
            self.authority.own(owned, is_any_epoch=is_any_epoch)

    def disown(self, out_stream: int) -> None:
        """Stop announcing this output."""
        with self._client.turn:
            self.authority.disown(out_stream)

    def follow(self, map_client: MapClient, on_action: OnAction) -> None:
        """Follow a map for a stage. The client's thread calls ``on_action`` with each action, in order; keep it
        short."""
        with self._client.turn:
            self._followers.append((map_client, on_action))

    def new_epoch(self, map_client: MapClient, epoch: int) -> None:
        """Begin a new epoch of a follower's output."""
        with self._client.turn:
            self._tell(map_client, map_client.new_epoch(epoch, monotonic_ns()))

    def refuse(self, map_client: MapClient, refused: MergeMap, refusal: JoinError) -> None:
        """Report that a follower's stage could not apply a map. The exchange goes on asking for one."""
        with self._client.turn:
            self._tell(map_client, map_client.on_refused(refusal, monotonic_ns(), refused))

    def unfollow(self, map_client: MapClient) -> None:
        """Stop following a map, because its stage has ended."""
        with self._client.turn:
            self._followers = [each for each in self._followers if each[0] is not map_client]

    def counters(self) -> dict[str, int]:
        """How many messages were sent and received, by kind; only counts above 0."""
        with self._client.turn:
            return dict(sorted((self.authority.counts + self.counts).items()))

    def close(self) -> None:
        """Stop sending and receiving. Idempotent."""
        with self._client.turn:
            self._client.remove(self)
            self._outbox.close()

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Announce and ask again: on this new Aeron client nobody has received anything from us."""
        self._outbox.open(link)
        self.authority.announce_anew()
        for map_client, _ in self._followers:
            map_client.ask_anew()

    def on_link_lost(self, _reason: str) -> None:
        """Keep the maps: they hold until another is received."""
        self._outbox.lose()

    def on_message(self, message: Message, now_ns: int) -> None:
        """Ignore messages of other streams. Those of the control stream arrive in ``on_control``."""

    def on_control(self, received: Received, now_ns: int) -> None:
        """Handle one message of the control stream."""
        try:
            heard = hear(received.data)
        except MessageError as failure:
            # The message is cut, or of an unknown version. That is its sender's mistake, and it is not a map.
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
        """Send what is due."""
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
