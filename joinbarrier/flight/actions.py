# SPDX-License-Identifier: Apache-2.0
"""The actions that a client may ask of a server, beside rows. JSON in, JSON out; the server keeps nothing between two
requests.

=========== ===================================================== =========================================
action      asks                                                  answer
=========== ===================================================== =========================================
describe    nothing                                               ``boot_id``, ``journals``
head        where the table ends, as the head says it             ``row``
bounds      the oldest row, and the end as the segments say it    ``first_row``, ``end_row``
extents     where the batches of a range lie                      ``extents``, ``next_row``
checkpoint  the first row behind another checkpoint               ``row``
claim       a reader's name                                       ``claim``, ``committed_row``
commit      rows before ``row`` are done; renews the lease        ``committed_row``
lease       renews the lease                                      nothing
release     gives the name up                                     nothing
=========== ===================================================== =========================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from framegate.joinbarrier.flight.served import Served
from framegate.joinbarrier.flight.ticket import number_of, on_loss_of, path_of, spot_of, table_of
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.readers import NamedReader, commit, renew
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.schema.errors import TicketRefused

EXTENTS_MAX: Final = 2048
"""Most extents in one answer; a client that needs more asks again from ``next_row`` on."""
_NAME_MAX: Final = 64

Answer = Mapping[str, Any]


def answer(served: Served, action: str, asked: Mapping[str, Any]) -> Answer:
    """Answer a client's request. Raises TicketRefused, JournalNotServed, JournalRecreated, and what journals raise."""
    handler = ACTIONS.get(action)
    if handler is None:
        raise TicketRefused("no such action", have=action[:_NAME_MAX], want="|".join(ACTIONS))
    return handler(served, asked)


def _describe(served: Served, _asked: Mapping[str, Any]) -> Answer:
    return {"boot_id": boot_id(), "journals": [_described(served, path) for path in served.paths]}


def _described(served: Served, path: str) -> Answer:
    table = served.table(path)
    info = table.journal.info
    return {
        "path": path,
        "journal_epoch": info.journal_epoch,
        "out_stream": info.out_stream,
        "policy": info.policy,
        "inputs": [each.name for each in info.inputs],
        "reader_lease_s": info.reader_lease_s,
    }


def _head(served: Served, asked: Mapping[str, Any]) -> Answer:
    return {"row": _table(served, asked).latest_row()}


def _bounds(served: Served, asked: Mapping[str, Any]) -> Answer:
    table = _table(served, asked)
    return {"first_row": table.first_row(), "end_row": table.sealed_row()}


def _extents(served: Served, asked: Mapping[str, Any]) -> Answer:
    table = _table(served, asked)
    first_row, end_row = number_of(asked, "first_row"), number_of(asked, "end_row")
    limit = Limit(_number_or_none(asked, "rows_max"), _number_or_none(asked, "bytes_max"))
    found = table.extents(first_row, end_row, limit, spot=spot_of(asked), most=EXTENTS_MAX)
    is_cut = len(found) == EXTENTS_MAX
    return {
        "extents": [[*extent, *(table.spot(extent.first_row) or ())] for extent in found],
        "next_row": found[-1].end_row if is_cut else end_row,
    }


def _checkpoint(served: Served, asked: Mapping[str, Any]) -> Answer:
    table = _table(served, asked)
    return {"row": table.next_checkpoint(number_of(asked, "first_row"), number_of(asked, "end_row"))}


def _claim(served: Served, asked: Mapping[str, Any]) -> Answer:
    table = _table(served, asked)
    reader = NamedReader.claim(
        table.journal.path, _reader(asked), journal_epoch=table.epoch, first_row=number_of(asked, "first_row")
    )
    return {"claim": reader.number, "committed_row": reader.committed_row}


def _commit(served: Served, asked: Mapping[str, Any]) -> Answer:
    table = _table(served, asked)
    row = commit(table.journal.path, _reader(asked), number_of(asked, "claim"), number_of(asked, "row"))
    return {"committed_row": row}


def _lease(served: Served, asked: Mapping[str, Any]) -> Answer:
    renew(_table(served, asked).journal.path, _reader(asked), number_of(asked, "claim"))
    return {}


def _release(served: Served, asked: Mapping[str, Any]) -> Answer:
    _table(served, asked).journal.release(_reader(asked))
    return {}


ACTIONS: Final[dict[str, Callable[[Served, Mapping[str, Any]], Answer]]] = {
    "describe": _describe,
    "head": _head,
    "bounds": _bounds,
    "extents": _extents,
    "checkpoint": _checkpoint,
    "claim": _claim,
    "commit": _commit,
    "lease": _lease,
    "release": _release,
}


def _table(served: Served, asked: Mapping[str, Any]) -> JournalTable:
    """The table that a request names, in the journal epoch that it names."""
    table = served.table(path_of(asked), table_of(asked), on_loss_of(asked))
    table.check_epoch(number_of(asked, "epoch"))
    return table


def _reader(asked: Mapping[str, Any]) -> str:
    name = asked.get("reader")
    if not isinstance(name, str):
        raise TicketRefused("not a name", field="reader")
    return name  # The name is checked where it becomes a file name.


def _number_or_none(asked: Mapping[str, Any], name: str) -> int | None:
    return None if asked.get(name) is None else number_of(asked, name)
