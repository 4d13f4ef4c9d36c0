# SPDX-License-Identifier: Apache-2.0
"""Environment variables that begin like framegate's own and that nothing reads: a mistyped name is reported.

A command's own configuration refuses wrong names below the tables that it reads. Here the others are warned of, in
every command.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Final

PREFIX: Final = "FRAMEGATE_"
OWN: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "AERON_DIR",
        "BASE_DIR",
        "CONFIG",
        "DESCRIPTOR_STREAMS",
        "FAULT",
        "FLIGHT_TOKEN",
        "INPUT",
        "LOG",
        "MEDIA_DRIVER",
        "WAIT_DRIVER",
    )
)
"""Those that stand for no key of a table."""
_TESTS: Final = (f"{PREFIX}TEST_", f"{PREFIX}FUZZ_")
"""What the tests tell each other."""
_NAME: Final = "NAME"
"""Stands in a known name for the table's own."""


def warnings(environment: Mapping[str, str]) -> Iterator[str]:
    """A line for each variable that nothing reads, with the nearest that something does."""
    strange = sorted(
        name for name in environment if name.startswith(PREFIX) and name not in OWN and not name.startswith(_TESTS)
    )
    # The models take a fifth of a second to import: nobody pays for them who sets nothing but the usual variables.
    known = _known() if strange else []
    for name in strange:
        if not any(_pattern(each).fullmatch(name) for each in known):
            nearest = next(iter(difflib.get_close_matches(name, known, 1, 0.0)), "")
            yield f"{name} is not a variable of framegate, and nothing reads it; the nearest is {nearest}"


def _known() -> list[str]:
    from framegate.driver.configuration import DriverConfig
    from framegate.joinbarrier.config.configuration import JoinConfig
    from framegate.schema.config.environment import known_names

    return sorted({*OWN, *known_names(DriverConfig, PREFIX), *known_names(JoinConfig, PREFIX)})


def _pattern(known: str) -> re.Pattern[str]:
    return re.compile(re.escape(known).replace(f"_{_NAME}_", "_[A-Z0-9_]+_"))
