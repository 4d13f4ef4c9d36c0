# SPDX-License-Identifier: Apache-2.0
"""Rows by ticket and answers by action, over loopback: the same as the journal says where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from framegate.joinbarrier.flight.serving import served_batches
from framegate.joinbarrier.flight.streams import Streams
from framegate.joinbarrier.flight.ticket import Ticket
from framegate.joinbarrier.journal.host import boot_id
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.readers import readers
from framegate.joinbarrier.journal.schema import UNMATCHED_SCHEMA
from framegate.joinbarrier.tables import shape
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.shape import wanted_schema
from framegate.schema.errors import (
    DataLoss,
    FlightFailed,
    JournalDamaged,
    JournalMissing,
    JournalNotServed,
    JournalRecreated,
    ReaderFenced,
    ReaderNameRefused,
    TicketRefused,
    WrongOffset,
)

from tests.unit.joinbarrier.flight.flight_world import SCHEMA, asking, rows_of, served, ticket
from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, OUT_STREAM, fill, segments_of, writer


def test_rows_are_those_of_the_journal_value_by_value(folder: Path) -> None:
    segments_of(folder, [5, 7, 3])
    with served(folder) as server, asking(server) as client:
        got = pa.Table.from_batches(list(client.batches(ticket(folder, 2, 14), SCHEMA)))
    assert got.equals(Journal(folder).to_arrow(2, 14))


def test_a_ticket_without_payloads_brings_none(folder: Path) -> None:
    segments_of(folder, [5])
    with served(folder) as server, asking(server) as client:
        wanted = wanted_schema("rows", INPUTS, "none")
        (batch,) = client.batches(ticket(folder, 0, 5, payload="none"), wanted)
    assert "payload" not in [field.name for field in batch.schema.field("left").type]
    assert batch.column("left").field("seq").to_pylist() == [0, 1, 2, 3, 4]


def test_unmatched_frames_come_by_their_own_table(folder: Path) -> None:
    made = writer(folder)
    made.unmatched("left", 4, "skew")
    fill(made, 1)
    with served(folder) as server, asking(server) as client:
        wanted = ticket(folder, 0, 1, table="unmatched")
        got = pa.Table.from_batches(list(client.batches(wanted, UNMATCHED_SCHEMA)))
    assert got.equals(Journal(folder).unmatched())


def test_large_batches_come_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [100])
    monkeypatch.setattr(shape, "YIELD_BYTES", 1000)
    with served(folder) as server, asking(server) as client:
        batches = list(client.batches(ticket(folder, 10, 90), SCHEMA))
    assert len(batches) > 10
    assert [row for batch in batches for row in batch.column("row").to_pylist()] == list(range(10, 90))


def test_what_is_served_lies_in_the_mapped_segment(folder: Path) -> None:
    segments_of(folder, [20])
    table = JournalTable(str(folder), "rows")
    streams = Streams(streams_max=1, stall_ns=1)
    wanted = ticket(folder, 3, 17)
    (batch, segment), *_ = table.batches(0, 20)
    (piece, _), *_ = served_batches(table, wanted, SCHEMA, streams, streams.open(""))
    mapped = [
        line.split()[0].split("-") for line in Path("/proc/self/maps").read_text().splitlines() if ".arrow" in line
    ]
    data = piece.column("left").field("payload").buffers()[2].address
    assert any(int(begin, 16) <= data < int(end, 16) for begin, end in mapped)
    assert batch.memory.obj is segment.memory.obj


def test_a_server_describes_what_it_serves(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    segments_of(folder / "a", [1])
    segments_of(folder / "b", [1])
    with served(folder / "a", folder / "b") as server, asking(server) as client:
        found = client.ask("describe")
    assert found["boot_id"] == boot_id()
    assert [each["path"] for each in found["journals"]] == [str(folder / "a"), str(folder / "b")]
    first = found["journals"][0]
    assert (first["journal_epoch"], first["out_stream"], first["inputs"]) == (EPOCH, OUT_STREAM, list(INPUTS))


def test_where_batches_lie_is_what_the_table_says(folder: Path) -> None:
    made = segments_of(folder, [5, 7, 3])
    made.drop_oldest()
    table = JournalTable(str(folder), "rows")
    asked: dict[str, Any] = {"journal": str(folder.resolve()), "epoch": EPOCH, "table": "rows", "on_loss": "error"}
    with served(folder) as server, asking(server) as client:
        assert client.ask("bounds", **asked) == {"first_row": 5, "end_row": 15}
        assert client.ask("head", **asked) == {"row": 15}
        found = client.ask("extents", **asked, first_row=6, end_row=15)
        limited = client.ask("extents", **asked, first_row=6, end_row=15, rows_max=1)
    want = [[*extent, *(table.spot(extent.first_row) or ())] for extent in table.extents(6, 15)]
    assert found == {"extents": want, "next_row": 15}
    assert limited["extents"] == want[:1]


def test_a_spot_saves_the_way_and_changes_nothing(folder: Path) -> None:
    made = writer(folder)
    for _ in range(10):
        fill(made, 3)
    table = JournalTable(str(folder), "rows")
    table.extents(0, 30)
    with served(folder) as server, asking(server) as client:
        for row in (0, 7, 29):
            assert rows_of(client, ticket(folder, row, 30, spot=table.spot(row))) == list(range(row, 30))


def test_a_reader_that_asks_from_afar_holds_rows_as_one_here_does(folder: Path) -> None:
    segments_of(folder, [5, 7])
    asked: dict[str, Any] = {"journal": str(folder.resolve()), "epoch": EPOCH, "table": "rows", "on_loss": "error"}
    with served(folder) as server, asking(server) as client:
        claim = client.ask("claim", **asked, reader="far", first_row=2)
        assert claim["committed_row"] == 2
        mine = {**asked, "reader": "far", "claim": claim["claim"]}
        assert client.ask("commit", **mine, row=9) == {"committed_row": 9}
        assert client.ask("commit", **mine, row=4) == {"committed_row": 9}
        client.ask("lease", **mine)
        (state,) = readers(folder)
        assert (state.reader, state.committed_row, state.journal_epoch) == ("far", 9, EPOCH)
        again = client.ask("claim", **asked, reader="far", first_row=0)
        assert again["committed_row"] == 9
        for action in ("commit", "lease"):
            with pytest.raises(ReaderFenced):
                client.ask(action, **mine, row=10)
        client.ask("release", **asked, reader="far")
    assert readers(folder) == []


# --- what is refused ---------------------------------------------------------------------------------------


def test_rows_that_are_gone_are_data_loss_with_their_numbers(folder: Path) -> None:
    segments_of(folder, [5, 7]).drop_oldest()
    with served(folder) as server, asking(server) as client:
        with pytest.raises(DataLoss) as lost:
            rows_of(client, ticket(folder, 3, 12))
        assert rows_of(client, ticket(folder, 3, 12, on_loss="skip")) == list(range(5, 12))
    facts = lost.value.facts
    assert (facts["first_row"], facts["last_row"], facts["rows"]) == (3, 4, 2)
    assert facts["endpoint"] == str(server.endpoint)


def test_another_epoch_is_an_error_of_its_own(folder: Path) -> None:
    segments_of(folder, [5])
    with served(folder) as server, asking(server) as client, pytest.raises(JournalRecreated) as anew:
        rows_of(client, ticket(folder, 0, 5, epoch=EPOCH - 1))
    assert (anew.value.facts["want"], anew.value.facts["have"]) == (EPOCH - 1, EPOCH)


def test_a_range_behind_the_end_is_refused(folder: Path) -> None:
    segments_of(folder, [5])
    with served(folder) as server, asking(server) as client, pytest.raises(WrongOffset):
        rows_of(client, ticket(folder, 0, 6))


@pytest.mark.parametrize("way", ["/etc", "{}/../{name}", "{}/segments", "{}/", "link", "", "relative"])
def test_no_path_but_those_that_are_served_is_opened(folder: Path, way: str) -> None:
    inside, outside = folder / "inside", folder / "outside"
    for each in (inside, outside):
        each.mkdir()
        segments_of(each, [1])
    (folder / "link").symlink_to(outside)
    path = str(folder / "link") if way == "link" else way.format(inside, name=outside.name)
    with served(inside) as server, asking(server) as client:
        with pytest.raises((JournalNotServed, TicketRefused)):
            rows_of(client, Ticket(journal=path, epoch=EPOCH, first_row=0, end_row=1))
        with pytest.raises((JournalNotServed, TicketRefused)):
            client.ask("claim", journal=path, epoch=EPOCH, table="rows", on_loss="error", reader="r", first_row=0)
    assert not list(folder.glob("*/readers/*"))


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "x" * 65])
def test_a_readers_name_leads_to_no_other_file(folder: Path, name: str) -> None:
    segments_of(folder, [1])
    asked = {"journal": str(folder.resolve()), "epoch": EPOCH, "table": "rows", "on_loss": "error", "reader": name}
    with served(folder) as server, asking(server) as client:
        for action in ("claim", "commit", "lease", "release"):
            with pytest.raises(ReaderNameRefused):
                client.ask(action, **asked, claim=1, row=0, first_row=0)


def test_an_action_that_is_none_is_refused(folder: Path) -> None:
    segments_of(folder, [1])
    with served(folder) as server, asking(server) as client, pytest.raises(TicketRefused, match="no such action"):
        client.ask("shutdown")


def test_a_damaged_segment_is_said_with_its_number_in_the_middle_of_a_stream(folder: Path) -> None:
    segments_of(folder, [5, 7])
    second = sorted((folder / "segments").iterdir())[1]
    second.write_bytes(b"nothing of a segment")
    with served(folder) as server, asking(server) as client:
        got = client.batches(ticket(folder, 0, 12), SCHEMA)
        assert next(got).num_rows == 5
        with pytest.raises(JournalDamaged):
            next(got)


def test_a_failure_of_the_server_is_no_traceback_at_the_client(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [1])
    with served(folder) as server, asking(server) as client:
        monkeypatch.setattr(server.served, "table", lambda *_: 1 // 0)
        with pytest.raises(Exception, match="ZeroDivisionError") as told:
            client.ask("describe")
    assert "Traceback" not in str(told.value)


def test_a_server_without_a_journal_does_not_start(folder: Path) -> None:
    with pytest.raises(JournalMissing), served(folder):
        pass


def test_a_server_that_leaves_rows_out_is_not_believed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments_of(folder, [5, 7])

    def few(*arguments: Any) -> Any:
        for number, each in enumerate(served_batches(*arguments)):
            if number == 0:
                yield each

    monkeypatch.setattr("framegate.joinbarrier.flight.server.served_batches", few)
    with served(folder) as server, asking(server) as client, pytest.raises(FlightFailed, match="rows are missing"):
        rows_of(client, ticket(folder, 0, 12))
