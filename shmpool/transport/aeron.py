# SPDX-License-Identifier: Apache-2.0
"""The real transport: a client of an Aeron media driver.

The classes behind it are native (``native/python/src/aeron``). This one adds the protocol's defaults, and checks the
directory before it connects, so that a missing driver is an error at once and not after a time-out.
"""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path
from typing import Final, Self, cast

from framegate.schema.errors import ClaimStillViewed, MediaDriverForeign, MediaDriverNotFound, NoPermission
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.shmpool.layout.owners import flaw_of_owner
from framegate.shmpool.transport.interface import OfferBound, Publication, Subscription

from framegate._native import AeronClient, driver_mark

DRIVER_TIMEOUT_MS: Final = 10_000
ADD_TIMEOUT_NS: Final = 5_000_000_000
_MARK: Final = "cnc.dat"
_WAIT_STEP_NS: Final = 20_000_000
_MAPPED: Final = ("", "cnc.dat", "publications", "images")
"""The folders of an Aeron directory that must not be writable by others: a client maps files in them."""


def is_driver_live(aeron_dir: str, driver_timeout_ms: int = DRIVER_TIMEOUT_MS) -> bool:
    """Whether any media driver has worked in ``aeron_dir`` within its time-out."""
    mark = driver_mark_of(aeron_dir)
    return mark is not None and mark[0] <= driver_timeout_ms


def driver_mark_of(aeron_dir: str) -> tuple[int, int] | None:
    """The age of the mark of a directory's media driver, in milliseconds, and its process; None if there is no mark.

    Raises ``MediaDriverForeign`` if another user could change the directory: nothing in it is mapped then.
    """
    for name in _MAPPED:
        path = Path(aeron_dir, name)
        if (flaw := flaw_of_owner(path)) is not None:
            raise MediaDriverForeign(flaw, aeron_dir=aeron_dir, path=path)
    return driver_mark(aeron_dir)


def require_access(aeron_dir: str) -> None:
    """Raise NoPermission for the directory of another user's media driver: waiting for it would be useless."""
    for path, rights in ((Path(aeron_dir), os.R_OK | os.W_OK | os.X_OK), (Path(aeron_dir, _MARK), os.R_OK | os.W_OK)):
        try:
            owner = path.stat().st_uid
        except FileNotFoundError:
            return
        except OSError as refused:
            raise NoPermission(f"it cannot be examined: {refused.strerror}", path=path) from None
        if not os.access(path, rights):
            who = _account(owner)
            raise NoPermission(
                f"the media driver's directory belongs to {who} and cannot be read and written by this user",
                path=path,
                owner=who,
                hint=f"Run as {who}, or start a driver of your own: framegate driver --aeron-dir DIR --base-dir DIR",
            )


def _account(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"


def wait_for_driver(aeron_dir: str, timeout_s: float) -> bool:
    """Wait until a media driver is live in ``aeron_dir``. Returns whether one is. Raises NoPermission."""
    deadline_ns = monotonic_ns() + int(timeout_s * 1e9)
    require_access(aeron_dir)
    while not is_driver_live(aeron_dir):
        if monotonic_ns() >= deadline_ns:
            return False
        sleep_ns(_WAIT_STEP_NS)
    return True


def how_to_start(aeron_dir: str) -> str:
    """The hint for a directory that no media driver serves.

    >>> how_to_start("/dev/shm/aeron-me")
    'Start one with: framegate driver --aeron-dir /dev/shm/aeron-me'
    """
    return f"Start one with: framegate driver --aeron-dir {shlex.quote(aeron_dir)}"


class AeronTransport:
    """A ``Transport`` over the media driver of ``aeron_dir``.

    Everything that it raises is a ``TransportError``, such as ``MediaDriverNotFound`` if no driver serves the
    directory. If the driver dies later, this is noticed within ``driver_timeout_ms``; every call then raises
    ``MediaDriverGone``.
    """

    def __init__(
        self, aeron_dir: str, driver_timeout_ms: int = DRIVER_TIMEOUT_MS, client_name: str = "framegate"
    ) -> None:
        if not is_driver_live(aeron_dir, driver_timeout_ms):
            what = "no live media driver in this directory"
            raise MediaDriverNotFound(what, aeron_dir=aeron_dir, hint=how_to_start(aeron_dir))
        self.aeron_dir = aeron_dir
        self._client = AeronClient(aeron_dir, driver_timeout_ms=driver_timeout_ms, client_name=client_name)

    def add_publication(
        self,
        channel: str,
        stream_id: int,
        *,
        exclusive: bool = True,
        bound: OfferBound | None = None,
        timeout_ns: int = ADD_TIMEOUT_NS,
    ) -> Publication:
        """Add a sender. Waits for the driver's answer up to ``timeout_ns``."""
        limit = bound or OfferBound()
        publication = self._client.add_publication(
            channel,
            stream_id,
            exclusive=exclusive,
            attempts=limit.attempts,
            deadline_ns=limit.deadline_ns,
            timeout_ns=timeout_ns,
        )
        return cast(Publication, publication)

    def add_subscription(
        self, channel: str, stream_id: int, *, idle: str = "backoff", timeout_ns: int = ADD_TIMEOUT_NS
    ) -> Subscription:
        """Add a receiver. Waits for the driver's answer up to ``timeout_ns``. ``idle`` is how it idles."""
        return cast(Subscription, self._client.add_subscription(channel, stream_id, idle=idle, timeout_ns=timeout_ns))

    @property
    def is_closed(self) -> bool:
        """True after ``close``, and after the driver was lost."""
        return self._client.is_closed

    def check_alive(self) -> None:
        """Raise the error that ended the client, if there was one."""
        self._client.check_alive()

    def errors(self) -> list[str]:
        """The errors that Aeron reported since the last call."""
        return self._client.errors()

    def close(self) -> None:
        """Close all publications and subscriptions, then the client. Idempotent."""
        if not self._client.close():
            raise ClaimStillViewed("a publication of this transport has an open claim", aeron_dir=self.aeron_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
