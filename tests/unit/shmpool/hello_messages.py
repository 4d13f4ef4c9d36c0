# SPDX-License-Identifier: Apache-2.0
"""What consumers say of themselves, for the tests of whoever hears them."""

from __future__ import annotations

from typing import Any, Final

from framegate.schema.wire import Bool, ConsumerHello, Mode, QosConsumer

from tests.unit.shmpool.lease_messages import STREAM

CONSUMER: Final = 9


def hello(consumer_id: int = CONSUMER, **changes: Any) -> ConsumerHello:
    """Nothing is asked for."""
    fields: dict[str, Any] = {
        "supports_shm": Bool.TRUE,
        "supports_progress": Bool.FALSE,
        "mode": Mode.STREAM,
        "max_rate_hz": 0,
        "expected_layout_version": 1,
        "descriptor_stream_id": 0,
        "control_stream_id": 0,
    }
    return ConsumerHello(stream_id=STREAM, consumer_id=consumer_id, **{**fields, **changes})


def qos(consumer_id: int = CONSUMER, epoch: int = 5) -> QosConsumer:
    """Nothing was lost."""
    return QosConsumer(
        stream_id=STREAM,
        consumer_id=consumer_id,
        epoch=epoch,
        last_seq_seen=0,
        drops_gap=0,
        drops_late=0,
        mode=Mode.STREAM,
    )
