# SPDX-License-Identifier: Apache-2.0
"""``framegate join left right:-2 imu~10ms --out DIR``: a join from the command line alone, run or saved as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from framegate.joinbarrier.config.toml_text import toml_text
from framegate.joinbarrier.config.worded import tables_of
from framegate.joinbarrier.config.words import Rule, parse_duration, parse_sign
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, WrongUsage


def worded_tables(
    words: Sequence[str], *, config: Path | None, out: Path | None, every: str | None, save: Path | None
) -> dict[str, Any] | None:
    """The tables that the inputs of a command line make; None where it names none. Raises WrongUsage."""
    if not words:
        for option, value in (("--out", out), ("--every", every), ("--save", save)):
            if value is not None:
                raise WrongUsage(f"{option} is for a join without a file: framegate join left right --out DIR")
        return None
    if config is not None:
        raise WrongUsage("a join has a file or inputs on the command line: give one of them", config=config)
    rules: dict[str, Rule] = {}
    for word in words:
        name, rule = parse_sign(word)
        if rules.setdefault(name, rule) is not rule:
            raise WrongUsage("an input is named once", input=name)
    if out is None and save is None:
        raise WrongUsage("a join needs a place for its rows", hint="Add --out DIR, which is made if it is missing.")
    return tables_of(rules, str(out or "out/joined"), None if every is None else _period(every))


def save_tables(tables: dict[str, Any], path: Path, *, as_json: bool) -> int:
    """Write the tables as a join.toml. A file that is there is not touched."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write("# Every key: docs/join.md. A stream has its input's name where none is given.\n\n")
            file.write(toml_text(tables))
    except FileExistsError:
        raise WrongUsage(f"{path} is there already: name another file with --save") from None
    except OSError as failure:
        raise WrongUsage(f"{path} cannot be written: {failure.strerror}") from None
    if as_json:
        emit({"event": "written", "path": str(path)})
    else:
        print(f"wrote {path}; run it with: framegate join --config {path}")
    return DONE


def _period(every: str) -> int:
    try:
        period_ns = parse_duration(every)
    except ValueError:
        raise WrongUsage("--every takes a duration, as in 100ms or 1s", found=every) from None
    if not period_ns:
        raise WrongUsage("a clock without a period makes no rows", found=every)
    return period_ns
