# SPDX-License-Identifier: Apache-2.0
"""What users write with ``.option(name, value)``: checked once, each mistake with its own text. Knows no Spark."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn, TypeVar, cast, get_args
from urllib.parse import unquote, urlsplit

from framegate.joinbarrier.flight.access import TIMEOUT_S, Access
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.flight.local_token import found_token_file
from framegate.joinbarrier.flight.token import VARIABLE
from framegate.joinbarrier.journal.layout import READER_NAME, Table
from framegate.joinbarrier.tables.shape import Payload
from framegate.schema.errors import CatalogTable, ConflictingOptions, MissingOption, UnknownOption, WrongOption

Choice = TypeVar("Choice", bound=str)

NAMES: Final = (
    "path",
    "endpoint",
    "readerName",
    "startingOffsets",
    "startingTimestamp",
    "endingOffsets",
    "failOnDataLoss",
    "maxRowsPerTrigger",
    "maxBytesPerTrigger",
    "minPartitions",
    "payload",
    "table",
    "alignToCheckpoints",
    "tokenFile",
    "caFile",
    "tlsName",
    "endpointTimeout",
    "forceFlight",
)
_OF_ENDPOINTS: Final = ("tokenFile", "caFile", "tlsName", "endpointTimeout", "forceFlight")
_PATHS_OF_SPARK: Final = "paths"
"""What ``load([a, b])`` becomes on its way: a JSON list."""
_OF_CATALOGS: Final = frozenset({"provider", "owner"})
"""What comes beside the options where a table of a catalog is made."""
_KNOWN: Final = {name.lower(): name for name in (*NAMES, _PATHS_OF_SPARK)}

MAX_BYTES_PER_TRIGGER: Final = 256 << 20
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SECONDS: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*s?", re.IGNORECASE)
_SECONDS_MAX: Final = 3600
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_UNIX: Final = datetime.fromtimestamp(0, UTC)
_COUNT_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of one query."""

    paths: tuple[str, ...]
    reader_name: str | None = None
    starting_offsets: str | None = None
    """None: the default of the kind of query."""
    starting_us: int | None = None
    """Microseconds since 1970: the first row that was joined then or later."""
    ending_offsets: str | None = None
    fail_on_data_loss: bool = True
    rows_per_trigger_max: int | None = None
    bytes_per_trigger_max: int = MAX_BYTES_PER_TRIGGER
    partitions_min: int | None = None
    payload: Payload = "value"
    table: Table = "rows"
    is_aligned: bool = False
    access: Access | None = None
    """How the servers are reached that ``paths`` are addresses of; None where they are directories."""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> SourceOptions:
        """Read what Spark hands over. Raises UnknownOption, WrongOption, MissingOption, ConflictingOptions or
        CatalogTable.

        >>> SourceOptions.parse({"path": "a, b", "maxbytespertrigger": "64m"}).paths
        ('a', 'b')
        """
        if given.keys() >= _OF_CATALOGS:
            raise CatalogTable("Spark hands none of the options of such a table to a source in Python")
        found = {_name_of(name): value.strip() for name, value in given.items()}
        made = cls(
            paths=_paths(found),
            reader_name=_reader_name(found),
            starting_offsets=found.get("startingOffsets"),
            starting_us=_time_us(found, "startingTimestamp"),
            ending_offsets=found.get("endingOffsets"),
            fail_on_data_loss=_switch(found, "failOnDataLoss", default=True),
            rows_per_trigger_max=_count(found, "maxRowsPerTrigger"),
            bytes_per_trigger_max=_size(found, "maxBytesPerTrigger"),
            partitions_min=_count(found, "minPartitions"),
            payload=_choice(found, "payload", cast(tuple[Payload, ...], get_args(Payload))),
            table=_choice(found, "table", cast(tuple[Table, ...], get_args(Table))),
            is_aligned=_switch(found, "alignToCheckpoints", default=False),
            access=_access(found),
        )
        made.check_together()
        return made

    def check_together(self) -> None:
        """Raises ConflictingOptions for what no query can have together."""
        if self.access is not None and self.payload == "reference":
            _conflict("endpoint", "payload", "a reference leads to a file of the host that the journal lies on")
        if self.starting_us is not None and self.starting_offsets is not None:
            _conflict("startingOffsets", "startingTimestamp", "a query begins in one place")
        if self.table == "unmatched":
            if self.starting_us is not None:
                _conflict("table", "startingTimestamp", "the unmatched table does not say when a frame was given up")
            if self.reader_name is not None:
                _conflict("table", "readerName", "a reader holds rows, and the unmatched table is kept apart from them")
            if self.is_aligned:
                _conflict("table", "alignToCheckpoints", "the unmatched table has no checkpoints")
            if self.payload != "value":
                _conflict("table", "payload", "the unmatched table has no payloads")

    def check_streaming(self) -> None:
        """Raises ConflictingOptions for what a streaming query cannot have."""
        if self.ending_offsets is not None:
            raise ConflictingOptions("a streaming query does not end by itself", option="endingOffsets")
        if self.payload == "reference" and self.reader_name is None:
            _conflict("payload", "readerName", "without a named reader the rows may be gone before they are resolved")


def _name_of(given: str) -> str:
    name = _KNOWN.get(given.lower())
    if name is None:
        near = difflib.get_close_matches(given.lower(), _KNOWN, n=1, cutoff=0)
        raise UnknownOption("the source has no such option", option=given, nearest=_KNOWN[near[0]])
    return name


def _paths(found: Mapping[str, str]) -> tuple[str, ...]:
    if "endpoint" in found:
        if "path" in found:
            _conflict("path", "endpoint", "a journal is found by its directory, or by who serves it")
        return _endpoints(found["endpoint"])
    if _PATHS_OF_SPARK in found and "path" not in found:
        named = [str(each) for each in json.loads(found[_PATHS_OF_SPARK])]
    else:
        named = found.get("path", "").split(",")
    paths = tuple(_directory(path.strip()) for path in named if path.strip())
    if not paths:
        raise MissingOption("there is nothing to read", option="path")
    if len(set(paths)) != len(paths):
        raise WrongOption("a journal is named twice", option="path", have=",".join(paths))
    return paths


def _directory(path: str) -> str:
    """A directory of this host, also where it is written as a URI."""
    scheme = _SCHEME.match(path)
    if scheme is None:
        return path
    found = urlsplit(path)
    if found.scheme != "file" or found.netloc not in ("", "localhost") or not found.path.startswith("/"):
        raise WrongOption(
            "a journal is a directory of this host",
            option="path",
            have=path,
            want="a path, or file:///PATH",
            hint="Mount it, or read it from its host: framegate join --flight there, and the option endpoint here.",
        )
    return unquote(found.path)


def _endpoints(text: str) -> tuple[str, ...]:
    found = tuple(str(Endpoint.parse(each.strip())) for each in text.split(",") if each.strip())
    if not found:
        raise MissingOption("there is nothing to read", option="endpoint")
    if len(set(found)) != len(found):
        raise WrongOption("a journal is named twice", option="endpoint", have=",".join(found))
    return found


def _access(found: Mapping[str, str]) -> Access | None:
    if "endpoint" not in found:
        for name in _OF_ENDPOINTS:
            if name in found:
                _conflict("path", name, "it says how a server is asked, and a directory has none")
        return None
    return Access(
        token_file=found.get("tokenFile") or _own_token_file(found["endpoint"]),
        ca_file=found.get("caFile"),
        tls_name=found.get("tlsName"),
        timeout_s=_seconds(found, "endpointTimeout"),
        is_flight_forced=_switch(found, "forceFlight", default=False),
    )


def _own_token_file(endpoints: str) -> str | None:
    """Of servers on this host that were given no token. The name goes to the executors with the other options."""
    if VARIABLE in os.environ or not all(Endpoint.parse(each.strip()).is_loopback for each in endpoints.split(",")):
        return None
    file = found_token_file(os.environ)
    return None if file is None else str(file)


def _seconds(found: Mapping[str, str], name: str) -> float:
    given = found.get(name)
    if given is None:
        return TIMEOUT_S
    parts = _SECONDS.fullmatch(given)
    if parts is None or not 0 < float(parts[1]) <= _SECONDS_MAX:
        raise WrongOption("not a time of at most an hour", option=name, have=given, want="such as 10s")
    return float(parts[1])


def _reader_name(found: Mapping[str, str]) -> str | None:
    name = found.get("readerName")
    if name is not None and not READER_NAME.fullmatch(name):
        raise WrongOption("not a name for a reader", option="readerName", have=name, want=READER_NAME.pattern)
    return name


def _switch(found: Mapping[str, str], name: str, *, default: bool) -> bool:
    return _choice(found, name, ("true", "false") if default else ("false", "true")) == "true"


def _choice(found: Mapping[str, str], name: str, choices: tuple[Choice, ...]) -> Choice:
    """One of the choices; the first is the default."""
    given = found.get(name, choices[0]).lower()
    for choice in choices:
        if choice == given:
            return choice
    raise WrongOption("not one of the choices", option=name, have=found[name], want="|".join(choices))


def _time_us(found: Mapping[str, str], name: str) -> int | None:
    given = found.get(name)
    if given is None:
        return None
    if given.isascii() and given.isdigit() and int(given) <= _COUNT_MAX // 1000:
        return int(given) * 1000
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None or time < _UNIX:
        want = "2026-11-20T08:00:00Z, with its zone, or milliseconds since 1970"
        raise WrongOption("not a time", option=name, have=given, want=want)
    return (time - _UNIX) // timedelta(microseconds=1)


def _count(found: Mapping[str, str], name: str) -> int | None:
    given = found.get(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= _COUNT_MAX):
        raise WrongOption("not a number of at least 1", option=name, have=given)
    return int(given)


def _size(found: Mapping[str, str], name: str) -> int:
    given = found.get(name)
    if given is None:
        return MAX_BYTES_PER_TRIGGER
    parts = _SIZE.fullmatch(given)
    size = int(parts[1]) << _SHIFTS[parts[2].lower()] if parts else 0
    if not 0 < size <= _COUNT_MAX:
        raise WrongOption("not a size of at least 1 byte", option=name, have=given, want="such as 64m or 1g")
    return size


def _conflict(first: str, second: str, why: str) -> NoReturn:
    raise ConflictingOptions(why, options=f"{first},{second}")
