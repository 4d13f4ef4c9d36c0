# SPDX-License-Identifier: Apache-2.0
"""The output of framegate's own parts as log lines: JSON objects become words, other lines stay unchanged."""

from __future__ import annotations

import json
from typing import Any, Final

from framegate.tools.rig.part import Part

_SCALARS: Final = (int, float, str, bool)
_FIELDS_MAX: Final = 12


def is_ready_line(part: Part, line: str) -> bool:
    """Whether a part says by this line that it is ready."""
    if part.ready_text is not None:
        return part.ready_text in line
    return part.is_own and event_of(line).get("event") == "ready"


def event_of(line: str) -> dict[str, Any]:
    """The JSON object in a line; empty if the line is not one."""
    if not line.startswith("{"):
        return {}
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def in_words(line: str) -> list[str]:
    """A line as people read it.

    >>> in_words('{"event": "summary", "rows": 7, "absent": {"left": 0}}'), in_words("no object")
    (['summary rows=7'], ['no object'])
    """
    found = event_of(line)
    match found.get("event"):
        case "error":
            hint = [str(found["hint"])] if found.get("hint") else []
            return [
                f"[FG-{found.get('code')} {found.get('name')}] {_fields(found.get('facts'))}{found.get('message')}",
                *hint,
            ]
        case str() as event:
            said = [f"{key}={value}" for key, value in found.items() if key != "event" and isinstance(value, _SCALARS)]
            return [" ".join([event, *said[:_FIELDS_MAX]])]
    return [line]


def _fields(facts: object) -> str:
    known = facts.items() if isinstance(facts, dict) else ()
    return "".join(f"{key}={value} " for key, value in known).rstrip() + (": " if known else "")
