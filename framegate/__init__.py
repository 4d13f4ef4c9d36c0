# SPDX-License-Identifier: Apache-2.0
"""For every tick, the frames that belong together.

>>> import framegate as fg
>>> fg.__version__.count(".")
2

``fg.connect()`` gives a client; see ``framegate.shmpool``. ``fg.journal(path)`` opens what a join has written; see
``framegate.joinbarrier.journal``. ``fg.audit(path, sent=[...])`` keeps its books; see ``framegate.tools.audit``.
What is named here is imported when it is first used, so that ``import framegate`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from framegate._version import VERSION

if TYPE_CHECKING:
    from framegate.joinbarrier.journal.journal import Journal, journal
    from framegate.shmpool.client.client import Client, connect
    from framegate.shmpool.consumer.consumer import Consumer
    from framegate.shmpool.producer.producer import Producer
    from framegate.tools.audit.auditing import audit

__version__ = VERSION

__all__ = ["Client", "Consumer", "Journal", "Producer", "__version__", "audit", "connect", "journal"]

_HOMES = {
    "Client": "framegate.shmpool.client.client",
    "Consumer": "framegate.shmpool.consumer.consumer",
    "Journal": "framegate.joinbarrier.journal.journal",
    "Producer": "framegate.shmpool.producer.producer",
    "audit": "framegate.tools.audit.auditing",
    "connect": "framegate.shmpool.client.client",
    "journal": "framegate.joinbarrier.journal.journal",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'framegate' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
