# SPDX-License-Identifier: Apache-2.0
"""The schemas that are generated, and what the XML cannot say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """One XML file. ``module`` names the Python and the Rust module, ``crate`` is the name the SBE tool chooses."""

    module: str
    schema_id: int
    crate: str
    is_newer_version_readable: bool


SOURCES: Final = (
    SchemaSource("wire", 900, "shm_tensorpool_control", is_newer_version_readable=True),
    SchemaSource("driver", 901, "shm_tensorpool_driver", is_newer_version_readable=False),
    SchemaSource("merge", 903, "shm_tensorpool_merge", is_newer_version_readable=False),
    SchemaSource("control", 920, "framegate_control", is_newer_version_readable=True),
)
