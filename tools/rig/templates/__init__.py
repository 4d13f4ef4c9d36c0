# SPDX-License-Identifier: Apache-2.0
"""Ready-made rigs: files that run as they are, and say what to change.

>>> names()
('camera-imu', 'offset-stage', 'recorded', 'spark-query', 'two-cameras')
>>> sorted(files_of("spark-query"))
['spark-query.py', 'spark-query.toml']
"""

from __future__ import annotations

from importlib.resources import files

from framegate.schema.errors import WrongUsage

_RIG = ".toml"
_TEXT = ".txt"
"""Programs lie here as text, so that nobody takes them for modules of framegate."""


def names() -> tuple[str, ...]:
    """What there is, in the order of the alphabet."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_RIG) for name in found if name.endswith(_RIG)))


def title(name: str) -> str:
    """What a rig shows, in a few words."""
    text = files_of(name)[f"{name}{_RIG}"]
    first = next(line for line in text.splitlines() if line.startswith(f"# {name}: "))
    return first.removeprefix(f"# {name}: ").partition(". ")[0].rstrip(".")


def files_of(name: str) -> dict[str, str]:
    """The rig and what belongs to it, by their file names. Raises WrongUsage, with the names there are, for another."""
    if name not in names():
        raise WrongUsage(f"there is no rig {name!r} to write: take one of {', '.join(names())}")
    own = (entry for entry in files(__name__).iterdir() if entry.name.partition(".")[0] == name)
    return {entry.name.removesuffix(_TEXT): entry.read_text(encoding="utf-8") for entry in own}
