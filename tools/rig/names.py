# SPDX-License-Identifier: Apache-2.0
"""Checks the names in a rig file: no two parts may share a name, and every part that is named must exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from framegate.schema.config.types import Conflict

if TYPE_CHECKING:
    from framegate.tools.rig.sections import RigFile


def wrong_names(rig: RigFile) -> Iterator[Conflict]:
    """Every mistake in a name, at its key."""
    kinds: dict[str, str] = {"driver": "driver"}
    for kind, name in rig.parts():
        if name in kinds:
            said = f"two parts are named {name}, and the log could not tell them apart"
            yield Conflict((kind, name), (kinds[name], name), said)
        kinds.setdefault(name, kind)
    if not rig.parts():
        yield Conflict(("rig",), ("source", "join"), "a rig has at least one part beside its driver")
    joins = dict.fromkeys(rig.join, "join")
    for (kind, name), part in rig.parts().items():
        for key, known in (("after", kinds), ("after_end", kinds), ("joins", joins)):
            for other in getattr(part, key, ()):
                if other not in known:
                    yield _unknown((kind, name, key), other, known)


def _unknown(key: tuple[str, ...], name: str, known: dict[str, str]) -> Conflict:
    nearest = next(iter(difflib.get_close_matches(name, known, 1, 0.0)), "")
    what = "join" if key[-1] == "joins" else "part"
    if not nearest:
        return Conflict(key, key[:-1], f"the rig has no {what} named {name}")
    return Conflict(key, (known[nearest], nearest), f"the rig has no {what} named {name}; the nearest is {nearest}")
