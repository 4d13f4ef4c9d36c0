# SPDX-License-Identifier: Apache-2.0
"""For every tick, the frames that belong together.

>>> import framegate as fg
>>> fg.__version__.count(".")
2

``fg.local()`` is everything in one program, a driver, producers and joins; see ``framegate.gate``. ``fg.connect()``
gives a client; see ``framegate.shmpool``. ``fg.journal(path)`` opens what a join has written; see
``framegate.joinbarrier.journal``. ``fg.audit(path, sent=[...])`` keeps its books; see ``framegate.tools.audit``.
``fg.MergeMap`` and the barriers say which frames belong together; see ``framegate.joinbarrier``. ``fg.errors`` has
every error by its name. What is named here is imported when it is first used, so that ``import framegate`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framegate._version import VERSION

if TYPE_CHECKING:
    from framegate._native import Frame
    from framegate.gate.gate import Gate, local
    from framegate.gate.joined import Joined
    from framegate.joinbarrier import (
        LatestValueJoinBarrier,
        MergeMap,
        SequenceJoinBarrier,
        SequenceRule,
        TimestampJoinBarrier,
        TimestampRule,
    )
    from framegate.joinbarrier.journal.journal import Journal, journal
    from framegate.joinbarrier.journal.row import Row
    from framegate.schema import errors
    from framegate.shmpool.client.client import Client, connect
    from framegate.shmpool.consumer.consumer import Consumer
    from framegate.shmpool.producer.producer import Producer
    from framegate.tools.audit.auditing import audit

__version__ = VERSION

_HOMES = {
    "Client": "framegate.shmpool.client.client",
    "Consumer": "framegate.shmpool.consumer.consumer",
    "Frame": "framegate._native",
    "Journal": "framegate.joinbarrier.journal.journal",
    "LatestValueJoinBarrier": "framegate.joinbarrier",
    "MergeMap": "framegate.joinbarrier",
    "Producer": "framegate.shmpool.producer.producer",
    "Row": "framegate.joinbarrier.journal.row",
    "SequenceJoinBarrier": "framegate.joinbarrier",
    "SequenceRule": "framegate.joinbarrier",
    "TimestampJoinBarrier": "framegate.joinbarrier",
    "TimestampRule": "framegate.joinbarrier",
    "audit": "framegate.tools.audit.auditing",
    "Gate": "framegate.gate.gate",
    "Joined": "framegate.gate.joined",
    "connect": "framegate.shmpool.client.client",
    "errors": "framegate.schema",
    "journal": "framegate.joinbarrier.journal.journal",
    "local": "framegate.gate.gate",
}

__all__ = [
    "Client",
    "Consumer",
    "Frame",
    "Gate",
    "Joined",
    "Journal",
    "LatestValueJoinBarrier",
    "MergeMap",
    "Producer",
    "Row",
    "SequenceJoinBarrier",
    "SequenceRule",
    "TimestampJoinBarrier",
    "TimestampRule",
    "__version__",
    "audit",
    "connect",
    "errors",
    "journal",
    "local",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'framegate' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
