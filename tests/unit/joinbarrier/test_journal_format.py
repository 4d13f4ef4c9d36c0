# SPDX-License-Identifier: Apache-2.0
"""Any Arrow program opens what the native writer wrote, and finds what was said."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.ipc as ipc
import pytest

from tests.unit.joinbarrier.journal_writing import append, batches, cell, files, rows, small_writer

BIG_SEGMENT = {"segment_bytes": 1 << 23, "max_bytes": 1 << 26}


def _written(folder: Path) -> list[dict[str, Any]]:
    """Two finished batches of two inputs; what their payloads are, row by row."""
    writer = small_writer(folder, ["left", "right"])
    wanted: list[dict[str, Any]] = []
    for seq in range(5):
        payloads = {"left": bytes([seq]) * (seq * 7), "right": None if seq == 3 else b"r" * 3}
        cells = {name: None if payload is None else cell(payload, seq) for name, payload in payloads.items()}
        append(writer, cells, out_seq=seq)
        wanted.append(payloads)
    writer.unmatched("right", stream=10_002, seq=4, seq_last=9, out_seq=1, at_ns=77, cause="overwritten")
    writer.close()
    return wanted


def _payloads(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name]["payload"] for name in ("left", "right")} for row in found]


def test_the_columns_are_those_of_the_contract_in_name_type_and_order(folder: Path) -> None:
    _written(folder)
    integers = ["row", "out_stream", "journal_epoch", "out_epoch", "out_seq", "out_time_ns"]
    head = [(name, pa.int64()) for name in integers]
    head += [("joined_at", pa.timestamp("us", "UTC"))]
    head += [(name, pa.int64()) for name in ("skew_ns", "map_version", "checkpoint_id")]
    numbers = [(name, pa.int64()) for name in ("seq", "timestamp_ns", "epoch", "trace_id")]
    frame = pa.struct(
        [
            ("status", pa.string()),
            *numbers,
            ("dtype", pa.string()),
            ("shape", pa.list_(pa.int32())),
            ("payload", pa.binary()),
        ]
    )
    assert batches(files(folder)[0])[0].batch.schema.equals(pa.schema([*head, ("left", frame), ("right", frame)]))
    stream_to_out = ["stream", "epoch", "seq", "seq_last", "timestamp_ns", "out_seq", "at_ns"]
    unmatched = [("input", pa.string()), *((name, pa.int64()) for name in stream_to_out), ("cause", pa.string())]
    assert batches(files(folder, "unmatched")[0])[0].batch.schema.equals(pa.schema(unmatched))


def test_every_value_comes_back_as_it_was_given(folder: Path) -> None:
    writer = small_writer(folder, ["cam"], out_stream=20_001, journal_epoch=99)
    frame = cell(b"abcdef", 7, timestamp_ns=8, epoch=9, trace_id=2**64 - 1, dtype="uint16", shape=[1, 3])
    head = {"out_seq": 1, "out_epoch": 2, "out_time_ns": -3, "joined_at_us": 4, "skew_ns": 5, "map_version": 6}
    append(writer, {"cam": frame}, checkpoint_id=10, **head)
    writer.seal()
    made = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=4)
    wanted = {"status": "present", "seq": 7, "timestamp_ns": 8, "epoch": 9, "trace_id": -1, "dtype": "uint16"}
    assert rows(folder) == [
        {
            "row": 0, "out_stream": 20_001, "journal_epoch": 99, "out_epoch": 2, "out_seq": 1, "out_time_ns": -3,
            "joined_at": made, "skew_ns": 5, "map_version": 6, "checkpoint_id": 10,
            "cam": {**wanted, "shape": [1, 3], "payload": b"abcdef"},
        }
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["stale", "late", "not_joined"])
def test_an_absent_input_has_a_status_and_nothing_else_and_its_struct_is_never_null(folder: Path, status: str) -> None:
    writer = small_writer(folder, ["a", "b"])
    append(writer, {"a": {"status": status, "seq": 5}, "b": cell(b"x", 1)})
    append(writer, {"a": cell(b"yy", 2), "b": {"status": status}})
    writer.seal()
    assert {sealed.batch.column("a").null_count for sealed in batches(files(folder)[0])} == {0}
    absent, present = (row["a"] for row in rows(folder))
    assert absent.pop("status") == status
    assert set(absent.values()) == {None}
    assert (present["status"], present["payload"]) == ("present", b"yy")


def test_a_finished_segment_opens_in_pyarrow_polars_and_duckdb(folder: Path) -> None:
    wanted = _written(folder)
    (path,) = files(folder)
    assert path.name == "00000000-0000000000000000.arrow"
    assert _payloads(rows(folder)) == wanted
    frame = pl.read_ipc(path)
    assert _payloads(frame.to_dicts()) == wanted
    segment = ds.dataset(path, format="ipc")
    connection = duckdb.connect()
    connection.register("segment", segment)
    found = connection.execute('SELECT "row", "left".payload FROM segment ORDER BY 1').fetchall()
    assert found == [(index, row["left"]) for index, row in enumerate(wanted)]


def test_the_open_segment_is_a_stream_of_what_was_sealed(folder: Path) -> None:
    writer = small_writer(folder, ["a"])
    append(writer, {"a": cell(b"one")})
    writer.seal(b'{"n":1}')
    append(writer, {"a": cell(b"two")})
    (path,) = files(folder)
    assert path.suffix == ".open"
    (sealed,) = batches(path)
    assert [row["a"]["payload"] for row in sealed.batch.to_pylist()] == [b"one"]
    assert sealed.state.rstrip(b" ") == b'{"n":1}'


def test_payloads_are_read_where_they_lie(folder: Path) -> None:
    writer = small_writer(folder, ["left"])
    append(writer, {"left": cell(b"payload")})
    writer.close()
    mapped = pa.memory_map(str(files(folder)[0]))
    whole = mapped.read_buffer(mapped.size())
    payload = ipc.open_file(mapped).get_batch(0).column("left").field("payload")
    address = payload.buffers()[2].address
    assert whole.address < address < whole.address + whole.size
    assert address % 64 == 0


def test_a_batch_may_have_a_state_and_no_rows(folder: Path) -> None:
    writer = small_writer(folder, ["a", "b"])
    assert writer.seal(b'{"n":1}') == (1, 0, 0, 0)
    append(writer, {"a": cell(b"x")})
    writer.seal(b'{"n":2}')
    writer.close(b'{"n":3}')
    found = batches(files(folder)[0])
    assert [sealed.batch.num_rows for sealed in found] == [0, 1, 0]
    assert [sealed.numbers["seal"] for sealed in found] == [1, 2, 3]
    assert [sealed.numbers["first_row"] for sealed in found] == [0, 0, 1]


def test_batches_of_one_row_are_as_good_as_any(folder: Path) -> None:
    writer = small_writer(folder, ["a"], seal_rows=1)
    for seq in range(10):
        append(writer, {"a": cell(bytes([seq]), seq)})
        assert writer.is_seal_due()
        assert writer.seal()[2] == 1
    assert [row["a"]["seq"] for row in rows(folder)] == list(range(10))


def test_payloads_of_every_size_lie_back_to_back(folder: Path) -> None:
    writer = small_writer(folder, ["a", "b", "c"], **BIG_SEGMENT)
    sizes = [(seq * seq * 37) % 9000 for seq in range(300)]
    for seq, size in enumerate(sizes):
        absent = None if seq % 3 else cell(b"now and then", seq)
        append(writer, {"a": cell(bytes([seq % 251]) * size, seq), "b": absent, "c": cell(b"", seq)})
    writer.close()
    found = rows(folder)
    assert [len(row["a"]["payload"]) for row in found] == sizes
    assert all(set(row["a"]["payload"]) <= {index % 251} for index, row in enumerate(found))
    assert [row["b"]["payload"] is None for row in found] == [bool(seq % 3) for seq in range(300)]
    assert {row["c"]["payload"] for row in found} == {b""}
    column = batches(files(folder)[0])[0].batch.column("a").field("payload")
    assert column.buffers()[2].size == sum(len(value) for value in column.to_pylist())


@pytest.mark.parametrize("in_place", [False, True])
def test_a_frame_of_megabytes_comes_back_however_it_was_placed(folder: Path, in_place: bool) -> None:
    writer = small_writer(folder, ["a", "b"], **BIG_SEGMENT)
    payload = bytes(range(256)) * 8193
    for seq in range(5):
        append(writer, {"a": cell(payload, seq), "b": cell(payload[seq:], seq)}, in_place=in_place)
    writer.close()
    found = rows(folder)
    assert [row["a"]["payload"] == payload for row in found] == [True] * 5
    assert [row["b"]["payload"] == payload[index:] for index, row in enumerate(found)] == [True] * 5


def test_a_hundred_and_twenty_eight_inputs_fit(folder: Path) -> None:
    names = [f"input_{index}" for index in range(128)]
    writer = small_writer(folder, names, **BIG_SEGMENT)
    for seq in range(3):
        append(writer, {name: cell(name.encode(), seq) for name in names[seq:]}, out_seq=seq)
    writer.close()
    found = rows(folder)
    assert [found[seq]["input_127"]["payload"] for seq in range(3)] == [b"input_127"] * 3
    assert [row["input_1"]["status"] for row in found] == ["present", "present", "not_joined"]


def test_unmatched_frames_are_sealed_with_the_rows_that_account_for_them(folder: Path) -> None:
    _written(folder)
    (found,) = rows(folder, "unmatched")
    wanted = {"stream": 10_002, "epoch": 1, "seq": 4, "seq_last": 9, "timestamp_ns": None, "out_seq": 1, "at_ns": 77}
    assert found == {"input": "right", **wanted, "cause": "overwritten"}
    (sealed,) = batches(files(folder, "unmatched")[0])
    last = batches(files(folder)[0])[-1]
    assert sealed.state.rstrip(b" ") == b'{"seal":%d}' % last.numbers["seal"]
