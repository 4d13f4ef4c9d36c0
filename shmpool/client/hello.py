# SPDX-License-Identifier: Apache-2.0
"""The hello of a consumer: what it asks for, by PROTOCOL 2.4 and 7.2."""

from __future__ import annotations

from typing import Final

from framegate.schema.wire import Bool, ConsumerHello, Mode
from framegate.shmpool.layout.region_numbers import LAYOUT_VERSION

_WISH_DESCRIPTOR: Final = 31_000
_WISH_CONTROL: Final = 32_000
"""The ids that ask for streams: any number but 0 asks, and the driver picks them. These begin PROTOCOL 7.1's ranges."""


def hello_of(
    stream_id: int, consumer_id: int, *, channel: str, max_rate_hz: int, own_stream: bool, hears_progress: bool
) -> ConsumerHello:
    """Make a hello. A channel and an id go together; streams of the consumer's own use the channel of all clients."""
    own_control = own_stream and hears_progress
    return ConsumerHello(
        stream_id=stream_id,
        consumer_id=consumer_id,
        supports_shm=Bool.TRUE,
        supports_progress=Bool.TRUE if hears_progress else Bool.FALSE,
        mode=Mode.RATE_LIMITED if max_rate_hz else Mode.STREAM,
        max_rate_hz=max_rate_hz,
        expected_layout_version=LAYOUT_VERSION,
        descriptor_stream_id=_WISH_DESCRIPTOR if own_stream else 0,
        descriptor_channel=channel if own_stream else "",
        control_stream_id=_WISH_CONTROL if own_control else 0,
        control_channel=channel if own_control else "",
    )
