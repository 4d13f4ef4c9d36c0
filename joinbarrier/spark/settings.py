# SPDX-License-Identifier: Apache-2.0
"""What a session should be told for short micro-batches: ``session(config=RECOMMENDED)``. Imports no PySpark."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

RECOMMENDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }
)
