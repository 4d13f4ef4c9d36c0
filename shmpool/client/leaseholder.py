# SPDX-License-Identifier: Apache-2.0
"""The leaseholder: what producers and consumers share. The client's thread keeps the lease; users wait for it."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from framegate.schema import Message
from framegate.schema.driver import (
    Role,
    ShmAttachResponse,
    ShmDetachResponse,
    ShmDriverShutdown,
    ShmLeaseRevoked,
)
from framegate.schema.errors import AttachRefused, DriverSilent, FramegateError, NoRoom, NoRoomForRing
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.client.declaration import Declaration
from framegate.shmpool.client.lease import Lease, LeaseState, LeaseTimes, new_client_id
from framegate.shmpool.client.lease_actions import Action, Gained, Lost, Refused, Send, UnderWay
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.aeron import how_to_start

if TYPE_CHECKING:
    from framegate.shmpool.client.client import Client
    from framegate.shmpool.client.link import Link

_REASONS_MAX: Final = 64
_log = logging.getLogger(__name__)


class Leaseholder:
    """Carries out what a ``Lease`` decides. Subclasses map and unmap the regions.

    Every thread that uses the lease holds the client's ``turn``: the client's thread while it calls a member, and
    ``close`` while it ends one.
    """

    def __init__(self, client: Client, stream: int, role: Role, declaration: Declaration | None = None) -> None:
        self.client = client
        self.stream_id = stream
        times = LeaseTimes(silence_ns=client.times.silence_ns)
        self.lease = Lease(stream, role, new_client_id(client.chance), times, client.chance, declaration)
        self.attaches = 0
        self.detach_reasons: list[str] = []
        self._changed = threading.Condition()
        self._failure: FramegateError | None = None
        self._has_regions = False
        self._said_refusal = ""
        self._under_way_until_ns: int | None = None
        """Until when to wait for a driver that handles the attach request; the driver repeats that it does."""

    @property
    def stream_text(self) -> str:
        """Its stream as people read it: ``left (10001)``."""
        return self.client.names.text(self.stream_id)

    # --- for subclasses, on the client's thread --------------------------------------------------------

    def map_lease(self, response: ShmAttachResponse, now_ns: int) -> None:
        """Map the regions of the granted lease. An error raised here goes to the waiting caller."""
        raise NotImplementedError

    def unmap(self, _reason: str) -> None:
        """Stop using the regions, and unmap them."""
        raise NotImplementedError

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Use a new Aeron client."""
        raise NotImplementedError

    def on_link_lost(self, reason: str) -> None:
        """Lose the lease with its Aeron client: the driver would not receive keep-alives."""
        now_ns = monotonic_ns()
        self._carry_out(self.lease.on_link_lost(reason, now_ns), now_ns)
        self.unmap(reason)

    def on_message(self, message: Message, now_ns: int) -> None:
        """Give a message to the lease."""
        match message:
            case ShmAttachResponse():
                self._carry_out(self.lease.on_response(message, now_ns), now_ns)
            case ShmDetachResponse():
                self.lease.on_detached(message)
            case ShmLeaseRevoked():
                self._carry_out(self.lease.on_revoked(message, now_ns), now_ns)
            case ShmPoolAnnounce():
                self._carry_out(self.lease.on_announce(message, now_ns), now_ns)
            case ShmDriverShutdown():
                self._carry_out(self.lease.on_shutdown(message, now_ns), now_ns)

    def on_tick(self, now_ns: int) -> None:
        """Give the time to the lease."""
        self._carry_out(self.lease.on_tick(now_ns), now_ns)

    def _carry_out(self, actions: list[Action], now_ns: int) -> None:
        for action in actions:
            match action:
                case Send(message):
                    if not self.client.send(message):
                        # The remaining actions would be out of order.
                        self._carry_out(self.lease.on_send_failed(now_ns), now_ns)
                        return
                case Gained(response):
                    self._gain(response, now_ns)
                case Lost(reason):
                    self._has_regions = False
                    self.note_detach(reason)
                    self.unmap(reason)
                    _log.warning("%s lost its lease, and asks for another: %s", self, reason)
                case UnderWay():
                    self._on_under_way(now_ns)
                case Refused(code, reason):
                    # The driver names its own error by the number; the code of the answer has none for it.
                    kind = NoRoomForRing if f"[FG-{NoRoom.code} " in reason else AttachRefused
                    self._on_refused(kind(reason, stream=self.stream_id, code=code.name))

    def _gain(self, response: ShmAttachResponse, now_ns: int) -> None:
        try:
            self.map_lease(response, now_ns)
        except FramegateError as failure:
            self._carry_out(self.lease.on_unusable(failure.message, now_ns), now_ns)
            self._tell(failure)
            return
        self._has_regions = True
        self.attaches += 1
        self._said_refusal = ""
        if self.attaches > 1:
            _log.warning("%s attached again, in epoch %s", self, response.epoch)
        self._tell(None)

    def _on_under_way(self, now_ns: int) -> None:
        if self._under_way_until_ns is None:
            _log.warning("%s waits: the driver makes its regions, which takes a while where they are large", self)
        self._under_way_until_ns = now_ns + self.lease.times.silence_ns

    def _on_refused(self, refusal: AttachRefused) -> None:
        if self.attaches and refusal.message != self._said_refusal:
            # Nobody waits for the answer. The lease asks again and again.
            self._said_refusal = refusal.message
            _log.warning("%s: %s", self, refusal)
        self._tell(refusal)

    def note_detach(self, reason: str) -> None:
        """Remember why the regions were unmapped. Only the newest reasons are kept."""
        self.detach_reasons.append(reason)
        del self.detach_reasons[:-_REASONS_MAX]

    def _tell(self, failure: FramegateError | None) -> None:
        with self._changed:
            self._failure, self._under_way_until_ns = failure, None
            self._changed.notify_all()

    # --- for users ---------------------------------------------------------------------------------------

    @property
    def is_attached(self) -> bool:
        """Whether a lease is held at this moment, and its regions are mapped."""
        return self._has_regions and self.lease.is_attached

    def wait_attached(self, timeout_s: float) -> None:
        """Wait for the lease; raises the reason if there is none. A driver that makes regions gets the time for it."""
        deadline_ns = monotonic_ns() + int(timeout_s * 1e9)
        with self._changed:
            while not self.is_attached:
                if self._failure is not None:
                    raise self._failure
                left_ns = max(deadline_ns, self._under_way_until_ns or 0) - monotonic_ns()
                if left_ns <= 0:
                    break
                self._changed.wait(left_ns / 1e9)
            else:
                return
            was_at_it = self._under_way_until_ns is not None
        raise DriverSilent(
            "the driver that was handling the attach fell silent" if was_at_it else "no lease driver answered",
            stream=self.stream_id,
            aeron_dir=self.client.aeron_dir,
            waited_s=timeout_s,
            hint=how_to_start(self.client.aeron_dir),
        )

    def close(self) -> None:
        """Give the lease back. Idempotent."""
        with self.client.turn:
            if self.is_closed:
                return
            self.client.remove(self)
            actions = self.lease.close()
            self.unmap("closed")
            self._carry_out(actions, monotonic_ns())
            self.leave()

    def disown(self) -> None:
        """Give up the lease without a message, in a new process after a fork: it belongs to the other one."""
        self.lease.state = LeaseState.CLOSED

    def leave(self) -> None:
        """Close what was opened on the link. This is the last thing that happens."""
        raise NotImplementedError

    @property
    def is_closed(self) -> bool:
        """After ``close``."""
        return self.lease.state is LeaseState.CLOSED

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of stream {self.stream_text}{'' if self.is_attached else ', not attached'}>"

    def __str__(self) -> str:
        return f"stream {self.stream_text}: {self.lease.role.name.lower()} {self.lease.client_id}"
