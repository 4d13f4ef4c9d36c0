# SPDX-License-Identifier: Apache-2.0
"""Living streams, heard as a recorder hears them, and shown as a recording would be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from framegate.recording.recorded import Recorded, Topic
from framegate.schema.config.settings import default_aeron_dir, load_client_settings
from framegate.schema.errors import MediaDriverNotFound
from framegate.shmpool.clock import monotonic_ns, realtime_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.shmpool.transport.aeron import AeronTransport, wait_for_driver
from framegate.shmpool.transport.interface import Subscription
from framegate.shmpool.transport.streams import Streams, untethered
from framegate.tools.inspect.options import InspectOptions
from framegate.tools.inspect.seen import Seen, seen_of

from framegate._native import recording_topic

_WAIT_S: Final = 0.005
_LOOK_MAX: Final = 10_000


def live(options: InspectOptions, stop: StopSignal) -> Iterator[Seen | None]:
    """What comes on the streams of a media driver; None where nothing came for a while. Needs no lease."""
    settings = load_client_settings(
        os.environ, config=options.config, aeron_dir=options.aeron_dir, wait_driver=options.wait_driver
    )
    aeron_dir = settings.aeron_dir or default_aeron_dir(os.environ)
    if not wait_for_driver(aeron_dir, settings.wait_driver):
        raise MediaDriverNotFound("no media driver came", aeron_dir=aeron_dir, waited_s=settings.wait_driver)
    streams = Streams()
    heard = {streams.descriptor, streams.control, streams.announce, streams.qos, streams.metadata}
    heard.update(settings.descriptor_streams.values())
    ends_at_ns = None if options.seconds is None else monotonic_ns() + int(options.seconds * 1e9)
    with AeronTransport(aeron_dir) as transport:
        heard_streams = [transport.add_subscription(untethered(streams.channel), each) for each in sorted(heard)]
        while not stop.is_set and (ends_at_ns is None or monotonic_ns() < ends_at_ns):
            received = _queued(heard_streams)
            # One time for all: they came by then, one after the other, while somebody else had the core.
            now_ns = realtime_ns()
            for data in received:
                yield seen_of(_recorded(data, now_ns))
            if not received:
                stop.wait(_WAIT_S)
                yield None


def _queued(heard_streams: Sequence[Subscription]) -> list[bytes]:
    """What has come, as far as one look may go."""
    found: list[bytes] = []
    while len(found) < _LOOK_MAX and (received := [each.data for ear in heard_streams for each in ear.poll(64)]):
        found += received
    return found


def _recorded(data: bytes, now_ns: int) -> Recorded:
    known = recording_topic(data)
    if known is None:
        return Recorded(Topic("live/unknown", "sbe", ""), 0, now_ns, now_ns, data)
    name, stream, time_ns = known
    topic = Topic.of(f"stream/{stream}/{name}" if stream is not None else f"control/{name}", "sbe", name)
    return Recorded(topic, 0, now_ns, now_ns if time_ns is None else time_ns, data)
