# SPDX-License-Identifier: Apache-2.0
"""The client of the pool: one Aeron client, its leases, and the thread that keeps them.

The thread polls the control and announce streams, sends keep-alives and QoS, and tells producers and consumers when
their regions come and go. It does so while user code computes, so a slow callback does not cost a lease. After the
driver, or this whole process, was away, the thread connects and attaches again by itself.
"""

from __future__ import annotations

import logging
import os
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from framegate.schema import Message, decode_any
from framegate.schema.config.settings import (
    DEFAULT_WAIT_DRIVER_S,
    ClientSettings,
    default_aeron_dir,
    default_base_dir,
    load_client_settings,
)
from framegate.schema.errors import (
    AddTimedOut,
    AttachRefused,
    ClientStalled,
    DriverSilent,
    InvalidValue,
    MediaDriverGone,
    MediaDriverNotFound,
    MessageError,
    TransportClosed,
    TransportError,
)
from framegate.schema.wire import FrameProgress
from framegate.shmpool.client.clients_here import keep, note_client, producer_here
from framegate.shmpool.client.leaseholder import Leaseholder
from framegate.shmpool.client.link import LINK_IS_DEAD, RECONNECT_NS, Link, first_link
from framegate.shmpool.client.member import ControlListener, Member
from framegate.shmpool.client.owner_times import OwnerTimes
from framegate.shmpool.client.regions import canonical
from framegate.shmpool.client.stream_names import StreamNames
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.consumer.consumer import Consumer
from framegate.shmpool.consumer.control_inbox import Control
from framegate.shmpool.idle import WAIT_NAMES, WaitName, sleep_ns
from framegate.shmpool.producer.predecessor import PATIENCE_NS, attached_behind_predecessor
from framegate.shmpool.producer.producer import DEFAULT_PIPELINE, Producer
from framegate.shmpool.transport.aeron import DRIVER_TIMEOUT_MS, how_to_start
from framegate.shmpool.transport.streams import AERON_STREAM_MAX, Streams

_TURN_NS: Final = 5_000_000
_DRIVER_IS_GONE: Final = (MediaDriverGone, ClientStalled)
_NS_PER_MS: Final = 1_000_000
_log = logging.getLogger(__name__)
_Attachable = TypeVar("_Attachable", bound=Leaseholder)


class Client:
    """A client, made by ``connect``; a context manager. Its producers and consumers end with it."""

    def __init__(
        self,
        *,
        aeron_dir: str,
        base_dirs: Sequence[str],
        wait_driver_s: float = DEFAULT_WAIT_DRIVER_S,
        streams: Streams | None = None,
        descriptor_streams: Mapping[int, int] | None = None,
        times: OwnerTimes | None = None,
        driver_timeout_ms: int = DRIVER_TIMEOUT_MS,
    ) -> None:
        self.aeron_dir = aeron_dir
        self.wait_driver_s = wait_driver_s
        self.allowed = canonical(base_dirs)
        self.names = StreamNames(base_dirs[0] if base_dirs else default_base_dir())
        """The names of the streams of the base directory."""
        self.chance = random.Random(os.urandom(16))  # noqa: S311  (ids that should differ, not secrets)
        self.times = times or OwnerTimes()
        self._streams = streams or Streams()
        self._descriptor_streams = dict(descriptor_streams or {})
        self._driver_timeout_ms = driver_timeout_ms
        self._link: Link | None = first_link(aeron_dir, self._streams, driver_timeout_ms, wait_driver_s)
        self._death: TransportError | None = None
        """An error that ends the link, met by a caller's thread; this client's own thread handles it."""
        self._has_failed = False
        self.is_copy = False
        """Whether this object is the copy that a fork made: the client works in the other process only."""
        self.turn = threading.RLock()
        """Held while a member is called, added or closed. Never held while waiting for messages."""
        self._members: list[Member] = []
        self._control_listeners: list[ControlListener] = []
        self._stopping = threading.Event()
        self._turns = 0
        self.foreign_messages = 0
        note_client(self)
        self._thread = threading.Thread(target=self._run, name="framegate-client", daemon=True)
        self._thread.start()

    def producer(
        self,
        stream: int | str,
        *,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
        name: str = "",
        descriptor_stream: int | None = None,
        pipeline: str | None = DEFAULT_PIPELINE,
        barrier_interval_s: float | None = None,
        position: int = 0,
        continues: bool = False,
        clock: str | None = None,
        frame_bytes_max: int | None = None,
        wait_s: float = PATIENCE_NS / 1e9,
    ) -> Producer:
        """The only producer of a stream, given by its number or its name. It is attached when this returns.

        Without shape and dtype, every frame may have its own. With them, or with ``frame_bytes_max`` (the bytes of the
        largest frame), the driver makes regions that fit.

        ``clock`` is the clock that stamps the frames: ``"monotonic"``, or ``"realtime"`` for times like those of
        ``time.time_ns()``. If it is left out, frames without a time get the monotonic clock's, and consumers are told
        the clock of the driver's file, or else monotonic.

        ``descriptor_stream`` is the Aeron stream for the descriptors, which consumers must be given too. If it is left
        out, it is the configured one, or else the one that all streams share.

        Checkpoint barriers are sent when the coordinator of ``pipeline`` asks; None sends none. In a pipeline without a
        coordinator, ``barrier_interval_s`` makes them come by themselves.

        ``position`` is where a source that can go back begins (``Producer.publish``, ``Producer.sent_barriers``).
        ``continues`` says that its epoch goes on with the sequences that the stream had before: frames that come again
        are repetitions, not the beginning of something new.

        ``wait_s`` is how long to wait for the lease of another producer to end; that of a killed producer expires.
        Raises ``AttachRefused`` if the driver refuses, ``DriverSilent`` if none answers.
        """
        stream = self.names.id_of(stream)
        descriptors = self.descriptor_stream(stream, descriptor_stream)
        make = partial(
            Producer,
            self,
            stream,
            shape=shape,
            dtype=dtype,
            name=name,
            descriptor_stream=descriptors,
            pipeline=pipeline,
            barrier_interval_s=barrier_interval_s,
            position=position,
            continues=continues,
            clock=clock,
            frame_bytes_max=frame_bytes_max,
        )
        own = producer_here(self, stream)
        try:
            patience_ns = 0 if own is not None else round(wait_s * 1e9)
            return attached_behind_predecessor(lambda: self.attach(make()), self._stopping.wait, patience_ns)
        except AttachRefused as refused:
            if own is not None:
                refused.hint = f"This program has one already, {own}: close() it first, or the client that it is of."
            raise

    def producers(self) -> list[Producer]:
        """The producers of this client that are not closed."""
        return [each for each in self._snapshot() if isinstance(each, Producer)]

    def consumer(
        self,
        stream: int | str,
        *,
        timeout_s: float | None = None,
        max_rate_hz: int = 0,
        own_stream: bool = False,
        descriptor_stream: int | None = None,
        on_progress: Callable[[FrameProgress], None] | None = None,
        on_control: Callable[[Control], None] | None = None,
        idle: WaitName = "bell",
    ) -> Consumer:
        """A consumer of a stream, given by its number or its name. It is attached when this returns.

        ``timeout_s`` is how long iterating waits for a frame; None waits for ever. ``max_rate_hz`` leaves frames out.
        ``own_stream`` asks for a descriptor stream for this consumer alone; a driver without a range for them declines.
        ``descriptor_stream`` is the one that was given to the stream's producer.

        The thread that polls calls ``on_control`` with the barriers, watermarks and signals between the frames; without
        it they wait in ``Consumer.control()``. The client's thread calls ``on_progress`` with the progress of frames
        that are being filled: keep it short.

        ``idle`` is how the consumer waits. With ``bell`` it sleeps until the producer rings; with ``backoff`` it looks
        less and less often, as it also does if a producer has no bell. ``yield`` and ``spin`` take a core and are the
        fastest.
        """
        if idle not in WAIT_NAMES:
            raise InvalidValue(
                "a consumer waits by one of these",
                idle=idle,
                known=", ".join(WAIT_NAMES),
                hint='Leave idle out to sleep until a producer rings; "spin" and "yield" take a core.',
            )
        stream = self.names.id_of(stream)
        consumer = Consumer(
            self,
            stream,
            timeout_s=timeout_s,
            max_rate_hz=max_rate_hz,
            own_stream=own_stream,
            descriptor_stream=self.descriptor_stream(stream, descriptor_stream),
            on_progress=on_progress,
            on_control=on_control,
            idle=idle,
        )
        return self.attach(consumer)

    def descriptor_stream(self, stream: int, given: int | None) -> int | None:
        """The Aeron stream of a stream's descriptors; None for the shared one."""
        found = self._descriptor_streams.get(stream) if given is None else given
        if found is not None and not 1 <= found <= AERON_STREAM_MAX:
            what = f"a descriptor stream is one of Aeron's, from 1 to {AERON_STREAM_MAX}"
            raise InvalidValue(what, stream=stream, descriptor_stream=found)
        return found

    def attach(self, member: _Attachable) -> _Attachable:
        """Add a producer or consumer that the caller has made, and wait until it holds its lease.

        Raises what ``producer`` and ``consumer`` raise; the member is closed then.
        """
        with self.turn:
            self._admit(member)
        try:
            member.wait_attached(self.wait_driver_s)
        except DriverSilent as silence:
            member.close()
            if self._link is None:
                raise MediaDriverNotFound(
                    "the media driver ended, and no other came",
                    aeron_dir=self.aeron_dir,
                    waited_s=self.wait_driver_s,
                    hint=how_to_start(self.aeron_dir),
                ) from silence
            raise
        except BaseException:
            member.close()
            raise
        return member

    def listen(self, listener: ControlListener) -> None:
        """Add a member that needs no lease. It receives nothing while there is no media driver."""
        with self.turn:
            self._admit(listener)
            self._control_listeners.append(listener)

    def _admit(self, member: Member) -> None:
        """Add a member, and put it on the link if there is one. If there is none, or it dies just now, this client's
        thread connects again and puts every member on the next link."""
        if self.is_copy:
            raise TransportClosed(
                "the client belongs to the process that this one was forked from",
                aeron_dir=self.aeron_dir,
                hint="Make a client of this process's own: fg.connect(), or fg.local().",
            )
        if self._has_failed or self._stopping.is_set():
            raise TransportClosed("the client is closed", aeron_dir=self.aeron_dir)
        if self._link is not None:
            try:
                member.on_link(self._link)
            except LINK_IS_DEAD as death:
                if self._members and isinstance(death, AddTimedOut):
                    # The driver may be slow rather than dead, so the leases of the other members are not risked for
                    # this one.
                    raise
                self._death = death
        self._members.append(member)

    def await_turn(self, most_ns: int) -> None:
        """Wait until this client has heard and passed on what was sent to it before this call, at most this long."""
        until_ns = monotonic_ns() + most_ns
        # The turn that is under way may have heard its messages before this call.
        wanted = self._turns + 2
        while self._turns < wanted and self._thread.is_alive() and monotonic_ns() < until_ns:
            sleep_ns(_TURN_NS)

    def remove(self, member: Member) -> None:
        """Remove a member that has closed itself."""
        with self.turn:
            if member in self._members:
                self._members.remove(member)
            self._control_listeners = [each for each in self._control_listeners if each is not member]

    def send(self, message: Message) -> bool:
        """Send a message on the control stream. Returns whether it was taken."""
        link = self._link
        return link is not None and link.control.offer(message.encode()) > 0

    def close(self) -> None:
        """Give every lease back and end the thread. Idempotent; does nothing in a process that was forked."""
        if self.is_copy:
            return
        for member in self._snapshot():
            member.close()
        self._stopping.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        with self.turn:
            link, self._link = self._link, None
        if link is not None:
            link.transport.close()

    def disown(self) -> None:
        """Give up everything without closing it, in a new process after a fork: nothing belongs to this process."""
        self.is_copy, self.turn = True, threading.RLock()
        keep(self._link)
        self._link = None
        for member in self._members:
            if isinstance(member, Leaseholder):
                member.disown()

    def __repr__(self) -> str:
        return f"<Client of {self.aeron_dir}{'' if self._link is not None else ', without a media driver'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _snapshot(self) -> list[Member]:
        with self.turn:
            return list(self._members)

    # --- the client's thread --------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._turn()
                    self._turns += 1
                except LINK_IS_DEAD as death:
                    self._lose_link(death)
                except TransportError:
                    if not self._stopping.is_set():
                        _log.exception("a turn of the client failed")
                        self._stopping.wait(_TURN_NS / 1e9)
        finally:
            if not self._stopping.is_set():
                # A defect. The leases are no longer kept alive, so nobody may write or read by them.
                self._has_failed = True
                self._lose_link(TransportClosed("the client's thread failed", aeron_dir=self.aeron_dir))

    def _turn(self) -> None:
        link = self._link
        if link is None:
            self._reconnect()
            return
        if (death := self._death) is not None:
            raise death
        control = link.hears_control.poll(64, _TURN_NS)
        link.note_images()
        received = control + link.hears_announce.poll(64)
        received += link.hears_qos.poll(256)
        messages = [message for data in received if (message := self._decoded(data.data)) is not None]
        with self.turn:
            for data in control if self._control_listeners else ():
                for listener in list(self._control_listeners):
                    with self._alone(listener):
                        listener.on_control(data, monotonic_ns())
            for message in messages:
                for member in list(self._members):
                    with self._alone(member):
                        member.on_message(message, monotonic_ns())
            for member in list(self._members):
                with self._alone(member):
                    member.on_tick(monotonic_ns())

    @contextmanager
    def _alone(self, member: Member, ends_link: tuple[type[TransportError], ...] = _DRIVER_IS_GONE) -> Iterator[None]:
        """Keep an error of one member, such as a refused stream, from the others, unless it ends the link."""
        try:
            yield
        except ends_link:
            raise
        except TransportError as failure:
            if not self._stopping.is_set():
                _log.warning("%s: %s", member, failure)

    def _decoded(self, data: bytes) -> Message | None:
        try:
            return decode_any(data)
        except MessageError:
            # Other schemas share these streams, and a malformed message is its sender's mistake.
            self.foreign_messages += 1
            return None

    def _lose_link(self, death: TransportError) -> None:
        _log.warning("%s", death)
        with self.turn:
            link, self._link, self._death = self._link, None, None
            for member in list(self._members):
                member.on_link_lost(death.message)
        if link is not None:
            link.transport.close()

    def _reconnect(self) -> None:
        self._stopping.wait(RECONNECT_NS / 1e9)
        try:
            link = Link(self.aeron_dir, self._streams, self._driver_timeout_ms)
        except TransportError:
            return
        with self.turn:
            self._link = link
            for member in list(self._members):
                with self._alone(member, ends_link=LINK_IS_DEAD):
                    member.on_link(link)
        _log.warning("connected again to the media driver in %s", self.aeron_dir)


def connect(
    aeron_dir: str | None = None,
    base_dir: str | None = None,
    *,
    config: Path | None = None,
    allowed_base_dirs: Sequence[str] | None = None,
    wait_driver_s: float | None = None,
    streams: Streams | None = None,
) -> Client:
    """Connect to the drivers of a host.

    An option that is left out comes from the environment (FRAMEGATE_AERON_DIR, FRAMEGATE_BASE_DIR and the others of
    ``ClientSettings``), or from the file ``config`` or FRAMEGATE_CONFIG. Otherwise it is what `framegate driver` uses
    without options. Only regions inside ``base_dir`` (or ``allowed_base_dirs``) are mapped.
    """
    settings = load_client_settings(os.environ, config=config, aeron_dir=aeron_dir, base_dir=base_dir)
    given = client_arguments(settings)
    if allowed_base_dirs:
        given["base_dirs"] = allowed_base_dirs
    if wait_driver_s is not None:
        given["wait_driver_s"] = wait_driver_s
    return Client(**given, streams=streams)


def client_arguments(settings: ClientSettings) -> dict[str, Any]:
    """The arguments of ``Client`` for these settings."""
    return {
        "aeron_dir": settings.aeron_dir or default_aeron_dir(os.environ),
        "base_dirs": [settings.base_dir],
        "wait_driver_s": settings.wait_driver,
        "descriptor_streams": settings.descriptor_streams,
        "times": OwnerTimes(
            freshness_ns=settings.freshness_ms * _NS_PER_MS,
            silence_ns=settings.silence_ms * _NS_PER_MS,
        ),
    }
