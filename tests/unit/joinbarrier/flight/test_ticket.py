# SPDX-License-Identifier: Apache-2.0
"""Tickets: one text for one meaning, and nothing else is taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from framegate.joinbarrier.flight.ticket import BYTES_MAX, Ticket
from framegate.joinbarrier.journal.walk import Spot
from framegate.schema.errors import TicketRefused

TICKET = Ticket(journal="/data/joined", epoch=7, first_row=3, end_row=12, spot=Spot(2, 1960, 3))


def changed(**changes: Any) -> bytes:
    found = {**json.loads(TICKET.to_bytes()), **changes}
    return json.dumps(found, sort_keys=True, separators=(",", ":")).encode()


def test_a_ticket_is_canonical_json() -> None:
    assert TICKET.to_bytes() == (
        b'{"end_row":12,"epoch":7,"first_row":3,"journal":"/data/joined","on_loss":"error","payload":"value",'
        b'"spot":[2,1960,3],"table":"rows"}'
    )


@pytest.mark.parametrize("spot", [None, Spot(2, 1960, 3)])
@pytest.mark.parametrize("table", ["rows", "unmatched"])
def test_what_was_written_is_read(spot: Spot | None, table: Any) -> None:
    wanted = Ticket(journal="/ä", epoch=0, first_row=0, end_row=0, table=table, payload="none", spot=spot)
    assert Ticket.parse(wanted.to_bytes()) == wanted


BROKEN = {
    "nothing": b"",
    "no JSON": b"\xff",
    "a list": b"[]",
    "deep": b"[" * 5000,
    "long": changed(journal="x" * BYTES_MAX),
    "other fields": changed(extra=1),
    "no fields": b"{}",
    "a number as text": changed(epoch="7"),
    "a number below 0": changed(first_row=-1),
    "a fraction": changed(end_row=12.0),
    "true": changed(epoch=True),
    "too large": changed(end_row=2**63),
    "not a path": changed(journal=7),
    "no path": changed(journal=""),
    "another table": changed(table="others"),
    "references": changed(payload="reference"),
    "another way": changed(on_loss="ignore"),
    "no spot": changed(spot=[1, 2]),
    "a list as a table": changed(table=[]),
    "backwards": changed(first_row=13),
    "spaces": json.dumps(json.loads(TICKET.to_bytes()), sort_keys=True).encode(),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_no_client_writes_is_refused(text: bytes) -> None:
    with pytest.raises(TicketRefused):
        Ticket.parse(text)


def test_every_changed_byte_is_refused_or_another_whole_ticket() -> None:
    text = TICKET.to_bytes()
    for index in range(len(text)):
        for flipped in (text[index] ^ 1, text[index] ^ 0x80, 0):
            broken = text[:index] + bytes([flipped]) + text[index + 1 :]
            try:
                found = Ticket.parse(broken)
            except TicketRefused:
                continue
            assert found.to_bytes() == broken
