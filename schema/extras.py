# SPDX-License-Identifier: Apache-2.0
"""The libraries that framegate works without until somebody wants what they do, as pyproject.toml declares them."""

from __future__ import annotations

from typing import Final

EXTRAS: Final = {
    "spark": ("pyspark[sql]>=4.0", "pandas>=2.2.2"),
    "ros": ("rosbags>=0.11",),
    "protobuf": ("mcap-protobuf-support>=0.5", "protobuf>=6.31"),
}


def how_to_install(*extras: str) -> str:
    """What to write, however framegate itself was installed.

    >>> how_to_install("ros")
    "Install it with: python -m pip install 'rosbags>=0.11'"
    """
    wanted = " ".join(f"'{each}'" for extra in extras for each in EXTRAS[extra])
    return f"Install it with: python -m pip install {wanted}"
