# SPDX-License-Identifier: Apache-2.0
"""The recordings whose rows a journal holds, and the rules they were joined by; they decide what may follow. Pure.

``journal.json`` has one entry for each recording, in the order in which they were joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.sections import keys_that_decide_rows
from framegate.recording.identity import Identity
from framegate.schema.config.types import Section
from framegate.schema.errors import JournalMismatch

Entry = Mapping[str, Any]
"""The entry of a recording: its ``name``, ``bytes`` and ``digest``; the ``topics`` and ``times`` by which it was read;
the ``rules``; ``first_row``; ``above``, the highest epoch of each stream in earlier rows; ``is_whole``: it was joined
to its end."""

NEW_EPOCH_HINT: Final = "--new-epoch sets the rows that are there aside and begins anew."
_APPEND_HINT: Final = "--append joins it behind the rows that are there; " + NEW_EPOCH_HINT


def rules_of(config: JoinConfig) -> dict[str, Any]:
    """Every key of a join.toml that decides what the rows are, by the name that it has in the file."""
    found: dict[str, Any] = {**_decisive(config.join), "drive": str(config.join.drive or "")}
    found |= _decisive(config.mergemap)
    for each in config.input:
        for key, value in _decisive(each).items():
            # These keys are 0 if they are left out.
            is_none = value is None and key in ("offset", "offset_ns")
            found[f"{each.name}.{key}"] = 0 if is_none else value
    return found


def _decisive(section: Section) -> dict[str, Any]:
    return section.model_dump(include=keys_that_decide_rows(type(section)))


def entry_of(identity: Identity, config: JoinConfig, topics: Mapping[str, int], times: str) -> dict[str, Any]:
    """The entry of a recording, before it is known at what row it begins."""
    return {**asdict(identity), "topics": dict(topics), "times": times, "rules": rules_of(config)}


def place_of(known: Sequence[Entry], wanted: Entry, *, is_appended: bool) -> int | None:
    """The index of a recording among those in the journal; None if it is to be appended.

    Raises ``JournalMismatch`` if its rules differ, or if it is another recording and appending was not requested.
    """
    if not known:
        return None
    _require_rules(known[-1], wanted)
    for place, entry in enumerate(known):
        if _is_same(entry, wanted):
            _require_reading(entry, wanted)
            if place + 1 < len(known) and not entry.get("is_whole"):
                raise JournalMismatch(
                    "the recording was joined in part, and rows of another one follow: its rest cannot be joined",
                    hint=NEW_EPOCH_HINT,
                    recording=wanted["name"],
                )
            return place
    if is_appended:
        return None
    raise JournalMismatch(
        "the journal holds the rows of another recording",
        hint=_APPEND_HINT,
        want=_plain(wanted),
        have=_plain(known[-1]),
    )


def rows_of(known: Sequence[Entry], place: int, next_row: int) -> int:
    """How many rows of a recording the journal holds.

    >>> rows_of([{"first_row": 0}, {"first_row": 10}], 0, 25), rows_of([{"first_row": 0}, {"first_row": 10}], 1, 25)
    (10, 15)
    """
    end = int(known[place + 1]["first_row"]) if place + 1 < len(known) else next_row
    return max(0, end - int(known[place]["first_row"]))


def _is_same(entry: Entry, wanted: Entry) -> bool:
    keys = ("bytes", "digest")
    return bool(wanted["digest"]) and all(entry.get(key) == wanted[key] for key in keys)


def _require_rules(entry: Entry, wanted: Entry) -> None:
    changes = list(_changes(entry.get("rules") or {}, wanted["rules"]))
    if changes:
        raise JournalMismatch("the journal's rows were made by other rules", hint=NEW_EPOCH_HINT, **dict(changes))


def _require_reading(entry: Entry, wanted: Entry) -> None:
    before = {**(entry.get("topics") or {}), "--time": entry.get("times")}
    now = {**wanted["topics"], "--time": wanted["times"]}
    changes = list(_changes(before, now)) + [(key, f"{before[key]} before, none now") for key in before.keys() - now]
    changes += [(key, f"none before, {now[key]} now") for key in now.keys() - before]
    if changes:
        raise JournalMismatch(
            "the recording was joined with other topics or times", hint=NEW_EPOCH_HINT, **dict(changes)
        )


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # A key that only one of them has belongs to another version of framegate, and is not compared.
    for key in now:
        if key in before and before[key] != now[key]:
            yield key, f"{_word(before[key])} before, {_word(now[key])} now"


def _word(value: object) -> str:
    return "none" if value is None else str(value)


def _plain(entry: Entry) -> str:
    return f"{entry['name']} ({entry['bytes']} bytes)"
