# SPDX-License-Identifier: Apache-2.0
"""Tickets: which rows of which table of which epoch of which journal, in one canonical JSON text.

A ticket is complete, so a server keeps nothing between two of them, and the same ticket gives the same rows or an
error. ``spot`` only saves the server the search for the first row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, get_args

from framegate.joinbarrier.journal.layout import Table
from framegate.joinbarrier.journal.walk import OnLoss, Spot
from framegate.schema.errors import TicketRefused

Payload = Literal["value", "none"]
"""How payloads are sent. There are no references, which would lead to files of the server's host."""

BYTES_MAX: Final = 8192
NUMBER_MAX: Final = 2**63 - 1
_PATH_MAX: Final = 4096
_NUMBERS: Final = ("epoch", "first_row", "end_row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A request for one range of rows."""

    journal: str
    epoch: int
    first_row: int
    end_row: int
    table: Table = "rows"
    payload: Payload = "value"
    on_loss: OnLoss = "error"
    spot: Spot | None = None

    def to_bytes(self) -> bytes:
        """Encode the ticket."""
        as_json = {name: getattr(self, name) for name in self.__slots__}
        return canonical(as_json)

    def after(self, row: int) -> Self:
        """The ticket for the rows from ``row`` on."""
        return replace(self, first_row=row)

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Decode a ticket. Raises TicketRefused for anything that ``to_bytes`` does not write.

        >>> ticket = Ticket(journal="/data/joined", epoch=7, first_row=0, end_row=12)
        >>> Ticket.parse(ticket.to_bytes()) == ticket
        True
        """
        found = parsed(text)
        if set(found) != set(cls.__slots__):
            raise TicketRefused("not the fields of a ticket", have=",".join(sorted(found))[:200])
        ticket = cls(
            journal=path_of(found),
            epoch=number_of(found, "epoch"),
            first_row=number_of(found, "first_row"),
            end_row=number_of(found, "end_row"),
            table=table_of(found),
            payload=found["payload"],
            on_loss=on_loss_of(found),
            spot=spot_of(found),
        )
        if ticket.payload not in get_args(Payload):
            raise TicketRefused("no such way to give payloads", want="value|none")
        if ticket.first_row > ticket.end_row:
            raise TicketRefused("the range ends before it begins", start=ticket.first_row, end=ticket.end_row)
        if ticket.to_bytes() != text:
            raise TicketRefused("the ticket is not canonical JSON")
        return ticket


def canonical(found: Mapping[str, Any]) -> bytes:
    """Encode an object so that equal objects give equal texts."""
    return json.dumps(found, sort_keys=True, separators=(",", ":")).encode()


def parsed(text: bytes, bytes_max: int = BYTES_MAX) -> dict[str, Any]:
    """Decode a JSON object from the network. Raises TicketRefused."""
    if len(text) > bytes_max:
        raise TicketRefused("the text is too long", want_bytes=bytes_max, have_bytes=len(text))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise TicketRefused("not a JSON object")
    return found


def number_of(found: Mapping[str, Any], name: str) -> int:
    """A field that is a whole number of 0 or more. Raises TicketRefused, like the functions below."""
    number = found.get(name)
    if type(number) is not int or not 0 <= number <= NUMBER_MAX:
        raise TicketRefused("not a number from 0 to 2^63-1", field=name)
    return number


def path_of(found: Mapping[str, Any]) -> str:
    """The journal's directory, as a text: it is compared with the served ones, and never opened."""
    path = found.get("journal")
    if not isinstance(path, str) or not 0 < len(path) <= _PATH_MAX:
        raise TicketRefused("not a directory", field="journal")
    return path


def table_of(found: Mapping[str, Any]) -> Table:
    """The table that a request names."""
    for table in get_args(Table):
        if found.get("table") == table:
            known: Table = table
            return known
    raise TicketRefused("no such table", want="|".join(get_args(Table)))


def on_loss_of(found: Mapping[str, Any]) -> OnLoss:
    """What to do about rows that are gone."""
    for way in get_args(OnLoss):
        if found.get("on_loss") == way:
            known: OnLoss = way
            return known
    raise TicketRefused("no such way with rows that are gone", want="|".join(get_args(OnLoss)))


def spot_of(found: Mapping[str, Any]) -> Spot | None:
    """Where the client has seen a batch; None if it does not say."""
    spot = found.get("spot")
    if spot is None:
        return None
    if not isinstance(spot, list) or len(spot) != len(Spot._fields):
        raise TicketRefused("not a place in a segment", field="spot")
    ordinal, offset, first_row = (number_of({"spot": each}, "spot") for each in spot)
    return Spot(ordinal, offset, first_row)
