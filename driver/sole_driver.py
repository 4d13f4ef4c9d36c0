# SPDX-License-Identifier: Apache-2.0
"""The claim of a lease driver to be the only one for a media driver and control stream (PROTOCOL 10.3).

Two lease drivers would both answer every attach, with regions that the other one's clients refuse. A driver of
framegate locks one byte of the media driver's mark file for each control stream, far behind the end of the file. The
kernel frees the lock with the process, and it goes with the media driver. Drivers by others take no lock. So if the
media driver was there before, the control stream is asked for a lease that does not exist: only a driver answers.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path
from typing import Final

from framegate.driver.configuration import DriverSection
from framegate.schema import decode_any
from framegate.schema.driver import Role, ShmDetachRequest, ShmDetachResponse
from framegate.schema.errors import LeaseDriverPresent, MediaDriverGone, MessageError
from framegate.schema.wire import ShmPoolAnnounce
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.transport.interface import Transport

MARK_FILE: Final = "cnc.dat"
ROUND_NS: Final = 500_000_000
"""How long an answer may take, in nanoseconds."""
PATIENCE_NS: Final = 5_000_000_000
"""How long a claim waits for a driver that is ending and sends its last messages."""
_ASK_AGAIN_NS: Final = 100_000_000
_FIRST_BYTE: Final = 1 << 40
_SET_LOCK: Final = 37
"""F_OFD_SETLK: a lock of the open file. Locks of the process would be lost when it closes the file elsewhere."""
_FLOCK: Final = struct.Struct("hhqqi4x")


class SoleDriver:
    """The claim to be the only lease driver. Call ``claim`` for each connection; ``close`` gives the claim up."""

    def __init__(self, aeron_dir: str, section: DriverSection) -> None:
        self._aeron_dir = aeron_dir
        self._section = section
        self._mark = -1

    def claim(self, transport: Transport, *, others_may_be_there: bool) -> None:
        """Claim the media driver. Raises ``LeaseDriverPresent``. It takes half a second if ``others_may_be_there``."""
        deadline_ns = monotonic_ns() + PATIENCE_NS
        if not self._lock():
            raise self._present(neighbour(transport, self._section) or "it holds the lock and does not answer")
        while others_may_be_there and (heard := neighbour(transport, self._section)) is not None:
            if monotonic_ns() >= deadline_ns:
                raise self._present(heard)

    def close(self) -> None:
        """Idempotent."""
        if self._mark >= 0:
            os.close(self._mark)
            self._mark = -1

    def _lock(self) -> bool:
        """Lock the mark file of the directory's present media driver. Returns whether this process has the lock."""
        path = Path(self._aeron_dir, MARK_FILE)
        try:
            if self._mark >= 0 and os.path.samestat(os.fstat(self._mark), path.stat()):
                return True
            self.close()
            self._mark = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise MediaDriverGone("the media driver ended", aeron_dir=self._aeron_dir) from None
        place = _FIRST_BYTE + self._section.control_stream_id
        try:
            fcntl.fcntl(self._mark, _SET_LOCK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
        except OSError as refused:
            if refused.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        return True

    def _present(self, heard: str) -> LeaseDriverPresent:
        return LeaseDriverPresent(
            "another lease driver serves this media driver",
            aeron_dir=self._aeron_dir,
            control_stream=self._section.control_stream_id,
            heard=heard,
            hint="Use that one, or start this one with another --aeron-dir or driver.control_stream_id.",
        )


def neighbour(transport: Transport, section: DriverSection, wait_ns: int = ROUND_NS) -> str | None:
    """The answer or announce of another lease driver within the time; None if there is none."""
    hears = transport.add_subscription(section.control_channel, section.control_stream_id)
    announces = transport.add_subscription(section.announce_channel, section.announce_stream_id)
    speaks = transport.add_publication(section.control_channel, section.control_stream_id)
    question = ShmDetachRequest(
        correlation_id=int.from_bytes(os.urandom(7)), lease_id=0, stream_id=0, client_id=1, role=Role.CONSUMER
    )
    now_ns = ask_ns = monotonic_ns()
    deadline_ns = now_ns + wait_ns
    try:
        while now_ns < deadline_ns:
            if now_ns >= ask_ns:
                ask_ns = now_ns + _ASK_AGAIN_NS
                speaks.try_offer(question.encode())
            for data in [*hears.poll(64, 10_000_000), *announces.poll(64)]:
                if (said := _sign_of_driver(data.data, question.correlation_id)) is not None:
                    return said
            now_ns = monotonic_ns()
    finally:
        for each in (hears, announces, speaks):
            each.close()
    return None


def _sign_of_driver(data: bytes, correlation_id: int) -> str | None:
    """What shows that a driver sent a message. An announce with a producer's id may not be a driver's."""
    try:
        message = decode_any(data)
    except MessageError:
        return None
    match message:
        case ShmDetachResponse(correlation_id=found) if found == correlation_id:
            return message.error_message or f"it answered {message.code.name}"
        case ShmPoolAnnounce(producer_id=0):
            return f"it announces stream {message.stream_id} in {message.header_region_uri}"
    return None
