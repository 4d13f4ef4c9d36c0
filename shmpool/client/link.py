# SPDX-License-Identifier: Apache-2.0
"""The link: the present Aeron client, with the streams that all members of a client share.

If the media driver dies while the first link is made, the client waits for the next one, within the time that the user
gave: nothing is lost before the first link.
"""

from __future__ import annotations

import logging
from typing import Final

from framegate.schema.errors import AddTimedOut, ClientStalled, MediaDriverGone, MediaDriverNotFound
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.transport.aeron import AeronTransport, how_to_start, wait_for_driver
from framegate.shmpool.transport.interface import Publication, Subscription
from framegate.shmpool.transport.streams import Streams, untethered

LINK_IS_DEAD: Final = (MediaDriverGone, ClientStalled, AddTimedOut)
"""The errors after which a link is useless. A media driver that leaves a request unanswered may have died a moment ago:
its mark looks alive until its time-out."""
RECONNECT_NS: Final = 200_000_000
_log = logging.getLogger(__name__)


class Link:
    """The present Aeron client and the streams that all members share. When it dies it is replaced as a whole."""

    def __init__(self, aeron_dir: str, streams: Streams, driver_timeout_ms: int) -> None:
        self.streams = streams
        self.transport = AeronTransport(aeron_dir, driver_timeout_ms)
        try:
            self._open(streams.channel)
        except BaseException:
            self.transport.close()
            raise
        self.joined_at_ns = monotonic_ns()
        """When the announce stream became available. Earlier announces are replays."""

    def _open(self, channel: str) -> None:
        streams, transport = self.streams, self.transport
        self.control: Publication = transport.add_publication(channel, streams.control, exclusive=False)
        self.qos: Publication = transport.add_publication(channel, streams.qos, exclusive=False)
        self.metadata: Publication = transport.add_publication(channel, streams.metadata, exclusive=False)
        # These messages are rare, so the subscription sleeps: short parks would cost a tenth of a core in each
        # process.
        self.hears_control: Subscription = transport.add_subscription(
            untethered(channel), streams.control, idle="sleep"
        )
        self.hears_announce: Subscription = transport.add_subscription(untethered(channel), streams.announce)
        self.hears_qos: Subscription = transport.add_subscription(untethered(channel), streams.qos)

    def note_images(self) -> None:
        """Note when another sender of announces has come."""
        for event in self.hears_announce.image_events():
            if event.is_available:
                self.joined_at_ns = max(self.joined_at_ns, event.at_ns)


def first_link(aeron_dir: str, streams: Streams, driver_timeout_ms: int, wait_s: float) -> Link:
    """Make a link to the media driver that is there, or comes within ``wait_s``.

    Raises ``MediaDriverNotFound`` if none comes, or the error of the last attempt when the time is over.
    """
    deadline_ns = monotonic_ns() + int(wait_s * 1e9)
    while True:
        left_ns = max(deadline_ns - monotonic_ns(), 0)
        if not wait_for_driver(aeron_dir, left_ns / 1e9):
            hint = how_to_start(aeron_dir)
            raise MediaDriverNotFound("no media driver came", aeron_dir=aeron_dir, waited_s=wait_s, hint=hint)
        try:
            return Link(aeron_dir, streams, driver_timeout_ms)
        except (*LINK_IS_DEAD, MediaDriverNotFound) as death:
            if monotonic_ns() >= deadline_ns:
                raise
            _log.warning("the media driver ended while it was connected to; waiting for the next one: %s", death)
        sleep_ns(RECONNECT_NS)
