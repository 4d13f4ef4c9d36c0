# SPDX-License-Identifier: Apache-2.0
"""PySpark over journals: ``spark.readStream.format("framegate")`` and ``spark.read.format("framegate")``.

``session()`` makes a session that knows the format, ``register(spark)`` makes it known to one; where framegate is
installed as a package, Spark finds it by itself. The rest are helpers for what comes after. Each is imported when it is
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framegate.joinbarrier.spark.read.dataframes import event_time, explode_inputs, flatten
    from framegate.joinbarrier.spark.read.frames import frames, stacks, to_numpy
    from framegate.joinbarrier.spark.read.resolving import resolve, resolve_batches
    from framegate.joinbarrier.spark.registering import register, session
    from framegate.joinbarrier.spark.settings import RECOMMENDED
    from framegate.joinbarrier.spark.sink import exactly_once

__all__ = [
    "RECOMMENDED",
    "event_time",
    "exactly_once",
    "explode_inputs",
    "flatten",
    "frames",
    "register",
    "resolve",
    "resolve_batches",
    "session",
    "stacks",
    "to_numpy",
]

_HOMES = {
    "RECOMMENDED": "settings",
    "event_time": "read.dataframes",
    "exactly_once": "sink",
    "explode_inputs": "read.dataframes",
    "flatten": "read.dataframes",
    "frames": "read.frames",
    "register": "registering",
    "resolve": "read.resolving",
    "resolve_batches": "read.resolving",
    "session": "registering",
    "stacks": "read.frames",
    "to_numpy": "read.frames",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'framegate.spark' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"framegate.joinbarrier.spark.{_HOMES[name]}"), name)
