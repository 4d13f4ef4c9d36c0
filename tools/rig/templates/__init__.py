# SPDX-License-Identifier: Apache-2.0
"""Templates: rigs that run as they are, and say what to change.

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
"""The suffix of programs: they are stored as text, so that they are not taken for modules of framegate."""


def names() -> tuple[str, ...]:
    """The names of the templates, in alphabetical order."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_RIG) for name in found if name.endswith(_RIG)))


def title(name: str) -> str:
    """What a rig shows, in a few words."""
    text = files_of(name)[f"{name}{_RIG}"]
    first = next(line for line in text.splitlines() if line.startswith(f"# {name}: "))
    return first.removeprefix(f"# {name}: ").partition(". ")[0].rstrip(".")


def files_of(name: str) -> dict[str, str]:
    """The rig and its further files, by name. Raises WrongUsage, which lists the templates, for another name."""
    if name not in names():
        raise WrongUsage(f"there is no rig {name!r} to write: take one of {', '.join(names())}")
    own = (entry for entry in files(__name__).iterdir() if entry.name.partition(".")[0] == name)
    return {entry.name.removesuffix(_TEXT): entry.read_text(encoding="utf-8") for entry in own}
