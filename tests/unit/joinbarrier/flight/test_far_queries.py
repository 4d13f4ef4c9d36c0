# SPDX-License-Identifier: Apache-2.0
"""What the Spark source does with addresses, without Spark: offsets, ranges and rows by Flight, or mapped where that
is possible, and the same ones either way."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from framegate.joinbarrier.flight import served as served_module
from framegate.joinbarrier.flight.actions import EXTENTS_MAX
from framegate.joinbarrier.flight.server import JournalServer
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.readers import readers
from framegate.joinbarrier.spark.options import SourceOptions
from framegate.joinbarrier.spark.plan.batch_ranges import batch_ranges
from framegate.joinbarrier.spark.plan.micro_batches import MicroBatches
from framegate.joinbarrier.spark.plan.ranges import RangeOfRows
from framegate.joinbarrier.spark.plan.starting import open_tables
from framegate.joinbarrier.spark.read import far_table
from framegate.joinbarrier.spark.read.far_table import FarTable
from framegate.joinbarrier.spark.read.read_range import read_range
from framegate.joinbarrier.tables.extents import Limit
from framegate.joinbarrier.tables.journal_table import JournalTable
from framegate.joinbarrier.tables.offsets import Position, from_spark, to_spark
from framegate.schema.errors import (
    DataLoss,
    EndpointUnreachable,
    FlightFailed,
    JournalNotServed,
    JournalRecreated,
    JournalsDiffer,
    ReaderFenced,
    WrongOption,
)

from tests.unit.joinbarrier.flight.flight_world import served
from tests.unit.joinbarrier.journal.journal_world import EPOCH, INPUTS, fill, segments_of, writer

ALL = Limit()
FORCED = {"forceFlight": "true", "startingOffsets": "earliest"}


def options_of(*servers: JournalServer, **options: str) -> SourceOptions:
    endpoint = ",".join(str(each.endpoint) for each in servers)
    return SourceOptions.parse({"endpoint": endpoint, "endpointTimeout": "20", **options})


@contextmanager
def opened(options: SourceOptions) -> Iterator[MicroBatches]:
    made = MicroBatches(options, cores=2)
    try:
        yield made
    finally:
        made.stop()


def begun(batches: MicroBatches) -> dict[str, Position]:
    start = batches.initial()
    assert batches.latest(start, ALL) == start
    assert batches.ranges(start, start) == []
    return start


def read(options: SourceOptions, ranges: list[RangeOfRows]) -> pa.Table:
    """As tasks do it: each range after a way through pickle."""
    found = [pickle.loads(pickle.dumps(each)) for each in ranges]  # noqa: S301 - our own
    batches = [batch for each in found for batch in read_range(each, options, INPUTS)]
    return pa.Table.from_batches(batches)


@contextmanager
def rig(folder: Path, *sizes: list[int]) -> Iterator[list[JournalServer]]:
    """A journal for each list of segments, each with a server of its own."""
    with ExitStack() as stack:
        servers = []
        for number, rows in enumerate(sizes):
            (folder / str(number)).mkdir()
            segments_of(folder / str(number), rows)
            servers.append(stack.enter_context(served(folder / str(number))))
        yield servers


@pytest.mark.parametrize("way", [{"forceFlight": "true"}, {}], ids=["flight", "mapped"])
def test_a_stream_behind_an_address_gives_the_rows_of_the_journal(folder: Path, way: dict[str, str]) -> None:
    with rig(folder, [5, 7, 3]) as servers:
        options = options_of(*servers, startingOffsets="earliest", readerName="far", **way)
        with opened(options) as batches:
            start = begun(batches)
            middle = batches.latest(start, Limit(rows_max=6))
            end = batches.latest(middle, ALL)
            got = pa.concat_tables([read(options, batches.ranges(*part)) for part in ((start, middle), (middle, end))])
            batches.commit(end)
        counted = servers[0].summary()
        assert got.equals(Journal(folder / "0").to_arrow())
        assert [middle[path].row for path in middle] == [6]
        assert (counted["streams"] > 0) == bool(way)
        assert [(state.reader, state.committed_row) for state in readers(folder / "0")] == [("far", 15)]


def test_a_table_behind_an_address_is_read_whole_by_several_tasks(folder: Path) -> None:
    with rig(folder, [50, 50]) as servers:
        options = options_of(*servers, **FORCED, minPartitions="4")
        ranges = batch_ranges(options, (), cores=2)
        assert len(ranges) == 4
        assert read(options, ranges).equals(Journal(folder / "0").to_arrow())


def test_an_offset_of_one_server_is_written_as_that_of_one_directory(folder: Path) -> None:
    with rig(folder, [5]) as servers:
        options = options_of(*servers, **FORCED)
        with opened(options) as batches:
            written = to_spark(batches.initial())
            assert written == {"epoch": EPOCH, "row": 0}
            assert from_spark(written, options.paths) == batches.initial()


def test_four_servers_make_one_query_with_an_offset_for_each(folder: Path) -> None:
    with rig(folder, [40], [40, 40], [7], []) as servers:
        options = options_of(*servers, **FORCED, readerName="all")
        with opened(options) as batches:
            start = begun(batches)
            assert sorted(to_spark(start)) == sorted(str(each.endpoint) for each in servers)
            got, ends = list[pa.Table](), list[dict[str, Position]]()
            while (end := batches.latest(start, Limit(rows_max=30))) != start:
                ranges = batches.ranges(start, end)
                got.append(read(options, ranges))
                ends.append(end)
                start = end
            batches.commit(start)
    rows = [0, 0, 0]
    assert [sum(end[path].row for path in end) for end in ends][-1] == 127
    assert all(table.num_rows <= 30 for table in got)
    assert sum(table.num_rows for table in got) == 127
    for number in range(3):
        (state,) = readers(folder / str(number))
        rows[number] = state.committed_row
    assert rows == [40, 80, 7]


def test_journals_of_other_inputs_are_no_one_query(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with rig(folder, [1], [1]) as servers:
        told = far_table._Told.of
        names = iter((INPUTS, ("other",)))
        monkeypatch.setattr(far_table._Told, "of", lambda *given: replace(told(*given), inputs=next(names)))
        with pytest.raises(JournalsDiffer):
            open_tables(options_of(*servers, **FORCED))


@pytest.mark.parametrize("forced", [FORCED, {}])
def test_a_journal_under_two_addresses_is_refused_before_its_rows_come_twice(
    folder: Path, forced: dict[str, str]
) -> None:
    with rig(folder, [1], [1]) as servers:
        one, two = options_of(*servers, **forced).paths
        assert len(open_tables(options_of(*servers, **forced))) == 2
        other_name = one.replace("127.0.0.1", "localhost")
        options = SourceOptions.parse({"endpoint": f"{one},{two},{other_name}", **forced})
        with pytest.raises(WrongOption, match="twice") as caught:
            open_tables(options)
    told = caught.value.facts
    assert (told["option"], told["have"], told["other"]) == ("endpoint", other_name, one)


# --- here or there -----------------------------------------------------------------------------------------


def kinds(options: SourceOptions) -> list[type]:
    return [type(table) for table in open_tables(options).values()]


def test_a_journal_of_this_host_is_mapped_without_being_asked_for(folder: Path) -> None:
    with rig(folder, [1]) as servers:
        assert kinds(options_of(*servers)) == [JournalTable]
        assert kinds(options_of(*servers, forceFlight="true")) == [FarTable]


def test_a_task_decides_for_itself_where_it_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver is on the journal's host, the task on another."""
    with rig(folder, [5]) as servers:
        options = options_of(*servers, startingOffsets="earliest")
        (wanted,) = batch_ranges(options, (), cores=1)
        assert read(options, [wanted]).num_rows == 5
        assert servers[0].summary()["streams"] == 0
        monkeypatch.setattr(far_table, "boot_id", lambda: "another host")
        assert read(options, [wanted]).num_rows == 5
        assert servers[0].summary()["streams"] == 1


def test_a_directory_of_the_same_name_is_not_the_journal(folder: Path) -> None:
    """Another container: the same boot, the same path, another journal, or none."""
    with rig(folder, [5]) as servers:
        options = options_of(*servers, startingOffsets="earliest")
        (wanted,) = batch_ranges(options, (), cores=1)
        assert wanted.origin is not None
        (folder / "other").mkdir()
        fill(writer(folder / "other", epoch=EPOCH + 1), 5)
        for directory in ("other", "none"):
            origin = replace(wanted.origin, directory=str(folder / directory))
            assert not far_table.is_here(origin, wanted.epoch, options)
        assert far_table.is_here(wanted.origin, wanted.epoch, options)


def test_one_of_several_journals_is_named_by_its_directory(folder: Path) -> None:
    for name in "ab":
        (folder / name).mkdir()
        segments_of(folder / name, [3])
    with served(folder / "a", folder / "b") as server:
        with pytest.raises(JournalNotServed, match="which"):
            open_tables(options_of(server))
        named = SourceOptions.parse({"endpoint": f"{server.endpoint}{folder}/b", **FORCED})
        (wanted,) = batch_ranges(named, (), cores=1)
        assert read(named, [wanted]).num_rows == 3
        other = SourceOptions.parse({"endpoint": f"{server.endpoint}{folder}/c"})
        with pytest.raises(JournalNotServed):
            open_tables(other)


# --- what goes wrong ---------------------------------------------------------------------------------------


def test_an_agent_whose_journal_began_anew_ends_the_query(folder: Path) -> None:
    with rig(folder, [5]) as servers:
        options = options_of(*servers, **FORCED)
        with opened(options) as batches:
            start = begun(batches)
            end = batches.latest(start, ALL)
            ranges = batches.ranges(start, end)
            (folder / "0" / "segments").rename(folder / "old")
            (folder / "0" / "journal.head").unlink()
            fill(writer(folder / "0", epoch=EPOCH + 1), 1)
            with pytest.raises(JournalRecreated):
                batches.latest(end, ALL)
            with pytest.raises(JournalRecreated):
                read(options, ranges)


def test_rows_that_are_gone_are_data_loss_or_passed_over(folder: Path) -> None:
    (folder / "0").mkdir()
    made = segments_of(folder / "0", [5, 7])
    with served(folder / "0") as server:
        strict = options_of(server, **FORCED)
        lenient = options_of(server, **FORCED, failOnDataLoss="false")
        (wanted,) = batch_ranges(strict, (), cores=1)
        made.drop_oldest()
        with pytest.raises(DataLoss):
            read(strict, [wanted])
        assert read(lenient, [wanted]).column("row").to_pylist() == list(range(5, 12))
        with opened(lenient) as batches:
            start = {path: Position(EPOCH, 0) for path in lenient.paths}
            end = batches.latest(start, ALL)
            assert read(lenient, batches.ranges(start, end)).num_rows == 7


def test_a_later_query_of_the_name_fences_the_earlier_behind_a_server_too(folder: Path) -> None:
    with rig(folder, [5]) as servers:
        options = options_of(*servers, **FORCED, readerName="far")
        with opened(options) as first:
            start = begun(first)
            end = first.latest(start, ALL)
            ranges = first.ranges(start, end)
            with opened(options), pytest.raises(ReaderFenced):
                first.commit(end)
            with pytest.raises(ReaderFenced):
                read(options, ranges)


def test_a_server_that_went_away_is_said_by_the_next_question(folder: Path) -> None:
    with rig(folder, [5]) as servers:
        options = options_of(*servers, **{**FORCED, "endpointTimeout": "0.2"})
        with opened(options) as batches:
            start = begun(batches)
            servers[0].close()
            with pytest.raises(EndpointUnreachable) as away:
                batches.latest(start, ALL)
    assert str(servers[0].endpoint) in str(away.value)


def test_servers_that_are_silent_are_all_asked_before_the_first_of_them_is_given_up(folder: Path) -> None:
    """Their time-outs pass at the same time: one after another, the second would not have been asked yet."""
    deaf = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
    try:
        with rig(folder, [5]) as servers:
            silent = [f"grpc://127.0.0.1:{each.getsockname()[1]}" for each in deaf]
            endpoint = ",".join([*silent, str(servers[0].endpoint)])
            with pytest.raises(EndpointUnreachable) as away:
                open_tables(SourceOptions.parse({"endpoint": endpoint, "endpointTimeout": "0.5"}))
            assert str(away.value.facts["endpoint"]) == silent[0]
            assert servers[0].summary()["calls"] == 1
        for each in deaf:
            each.setblocking(False)
            each.accept()[0].close()
    finally:
        for each in deaf:
            each.close()


def test_a_micro_batch_asks_each_server_for_its_end_and_once_where_rows_lie(folder: Path) -> None:
    with rig(folder, [40, 40], [40, 40]) as servers, opened(options_of(*servers, **FORCED)) as batches:
        start = begun(batches)
        limit = Limit(rows_max=60)
        asked = [each.summary()["calls"] for each in servers]
        end = batches.latest(start, limit)
        batches.newest()
        assert [each.first_row for each in batches.ranges(start, end)] == [0, 0]
        # Two for the end, as Spark shows it too; one for the extents of both the end and the tasks.
        assert [each.summary()["calls"] - count for each, count in zip(servers, asked, strict=True)] == [3, 3]


def test_what_one_journal_leaves_of_a_limit_is_found_behind_servers_too(folder: Path) -> None:
    """The journal with more has to be asked a second time: its equal share was not all."""
    with rig(folder, [2], [30], [3]) as servers:
        options = options_of(*servers, **FORCED)
        with opened(options) as batches:
            start = begun(batches)
            end = batches.latest(start, Limit(rows_max=30))
            assert [end[path].row for path in options.paths] == [2, 25, 3]
            assert sum(each.end_row - each.first_row for each in batches.ranges(start, end)) == 30


def test_a_lease_outlives_a_server_that_is_away_for_a_moment(folder: Path) -> None:
    with rig(folder, [5]) as servers:
        options = options_of(*servers, **{**FORCED, "endpointTimeout": "0.2"}, readerName="far")
        with opened(options) as batches:
            assert batches._keeper is not None
            servers[0].close()
            batches._keeper.renew()
            batches._keeper.check()
            with served(folder / "0", listen=servers[0].endpoint):
                batches._keeper.renew()
                batches.commit({path: Position(EPOCH, 3) for path in options.paths})
    assert [state.committed_row for state in readers(folder / "0")] == [3]


def test_where_rows_lie_is_asked_in_parts_when_there_are_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert EXTENTS_MAX > 1
    monkeypatch.setattr("framegate.joinbarrier.flight.actions.EXTENTS_MAX", 3)
    (folder / "0").mkdir()
    made = writer(folder / "0")
    for _ in range(10):
        fill(made, 2)
    with served(folder / "0") as server:
        options = options_of(server, **FORCED)
        (far,) = open_tables(options).values()
        here = JournalTable(str(folder / "0"), "rows")
        for first, end, limit in ((0, 20, None), (3, 17, Limit(rows_max=9)), (0, 20, Limit(bytes_max=1)), (4, 4, None)):
            assert far.extents(first, end, limit) == here.extents(first, end, limit)
            for row in range(first, first + 2):
                assert first == end or far.spot(row) == here.spot(row)


@pytest.mark.parametrize(
    "answer",
    [{}, {"journals": []}, {"journals": [{}], "boot_id": "x"}, {"journals": 7, "boot_id": "x"}],
    ids=["nothing", "no journal", "no path", "a number"],
)
def test_a_server_that_describes_nonsense_is_said_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    with rig(folder, [1]) as servers:
        monkeypatch.setattr("framegate.joinbarrier.flight.server.answer", lambda *_: answer)
        with pytest.raises((FlightFailed, JournalNotServed)):
            open_tables(options_of(*servers))


@pytest.mark.parametrize(
    "extents",
    [[[0, 3]], [[3, 3, 80]], [[3, 1, 80]], [[0, 6, 80]], [[0, 3, 80], [2, 5, 80]], [[0, 3, 0]], [["0", 3, 80]], 7],
    ids=["no bytes", "no rows", "backwards", "behind the end", "twice", "rows without bytes", "a text", "a number"],
)
def test_a_server_that_says_nonsense_of_where_rows_lie_is_said_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, extents: object
) -> None:
    with rig(folder, [5]) as servers:
        (far,) = open_tables(options_of(*servers, **FORCED)).values()
        told = {"extents": extents, "next_row": 5}
        monkeypatch.setattr("framegate.joinbarrier.flight.server.answer", lambda *_: told)
        with pytest.raises(FlightFailed, match="where rows lie"):
            far.extents(0, 5)


def test_neither_token_nor_key_is_in_what_spark_carries_around(folder: Path) -> None:
    (folder / "token").write_text("a-secret-of-this-test")
    options = SourceOptions.parse({"endpoint": "grpc://rig-7:1", "tokenFile": str(folder / "token")})
    assert b"a-secret" not in pickle.dumps(options)
    assert "a-secret" not in repr(options)
    assert served_module.Served([folder]).paths == (str(folder),)
