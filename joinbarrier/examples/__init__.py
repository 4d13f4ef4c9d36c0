# SPDX-License-Identifier: Apache-2.0
"""Ready-made join configurations: files that work as they are, and say what to change.

>>> names()
('camera-imu', 'fast-slow', 'lockstep')
>>> text("lockstep").count("[[input]]")
2
"""

from __future__ import annotations

from importlib.resources import files

from framegate.schema.errors import WrongUsage

_SUFFIX = ".toml"


def names() -> tuple[str, ...]:
    """What there is, in the order of the alphabet."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def text(name: str) -> str:
    """A file's text. Raises WrongUsage, with the names there are, for another one."""
    if name not in names():
        raise WrongUsage(f"there is no example {name!r}, only: {', '.join(names())}")
    return (files(__name__) / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
