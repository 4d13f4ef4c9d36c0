# SPDX-License-Identifier: Apache-2.0
"""Queries whose executors fetch their rows: on a small cluster whose parts are killed, and on another host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from framegate.joinbarrier.flight.child import FlightChild, FlightOptions
from pyspark.sql import SparkSession

import framegate.spark as fgs
from tests.spark import flight_kills
from tests.spark.kills import ROOT, written
from tests.spark.programs.repeating_query import begun
from tests.two_hosts import NotHere, two_hosts
from tests.unit.joinbarrier.journal.journal_world import EPOCH, fill, left, writer

WATCHDOG_S = 240


def totals(rows: int) -> set[tuple[int, int]]:
    return {(row, int(left(row).sum())) for row in range(rows)}


@contextmanager
def looked_after(server: FlightChild) -> Iterator[None]:
    """As an agent's loop does it."""
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.05):
            server.look()

    agent = threading.Thread(target=look)
    agent.start()
    try:
        yield
    finally:
        is_over.set()
        agent.join()


def test_of_two_servers_in_one_stream_one_is_killed_in_the_middle_of_a_batch_and_no_row_is_lost(
    spark: SparkSession, folder: Path
) -> None:
    """In this process's Spark, whose tasks are not repeated: the stream itself goes on with the next server."""
    epochs = (EPOCH, EPOCH + 1)
    for epoch in epochs:
        (folder / f"{epoch}").mkdir()
        fill(writer(folder / f"{epoch}", epoch=epoch), 8)
    with ExitStack() as stack:
        options = FlightOptions(listen="grpc://127.0.0.1:0")
        first, second = [stack.enter_context(FlightChild(folder / f"{epoch}", options)) for epoch in epochs]
        pid = first.pid

        def kill_once(number: int) -> None:
            if number == 1 and first.pid == pid:
                os.kill(pid, signal.SIGKILL)

        source = {"endpoint": f"{first.endpoint},{second.endpoint}", "forceFlight": "true", "endpointTimeout": "60"}
        with looked_after(first):
            begun(spark, folder, "value", kill_once, source, availableNow=True).awaitTermination()
        assert (first.restarts, second.restarts) == (1, 0)
    there = spark.read.parquet(str(folder / "out")).select("journal_epoch", "row", "total").collect()
    assert len(there) == 16
    assert set(map(tuple, there)) == {(epoch, *each) for epoch in epochs for each in totals(8)}


def test_a_table_behind_a_server_is_the_table_beside_it(spark: SparkSession, folder: Path) -> None:
    (folder / "journal").mkdir()
    made = writer(folder / "journal")
    for _ in range(4):
        fill(made, 10)
    here = spark.read.format("framegate").load(str(folder / "journal"))
    with FlightChild(folder / "journal", FlightOptions(listen="grpc://127.0.0.1:0")) as server:
        options = {"endpoint": str(server.endpoint), "forceFlight": "true", "minPartitions": "3"}
        far = spark.read.format("framegate").options(**options).load()
        assert far.schema == here.schema
        assert far.rdd.getNumPartitions() == 3
        assert far.collect() == here.collect()
        sums = fgs.resolve(far, lambda row: (row["row"], int(row["left"].sum())), "row bigint, total bigint")
        assert set(map(tuple, sums.collect())) == totals(40)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_servers_and_executors_that_are_killed_cost_no_row_and_repeat_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert flight_kills.main(4) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["server", "executor", "server", "executor"]
    assert lines[-1].endswith("120 rows; 0 missing, 0 repeated, 0 wrong")


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_query_on_a_host_without_the_journal_has_every_row(folder: Path) -> None:
    """Driver and workers are in a network of their own, where the journal's folder is empty."""
    (folder / "journal").mkdir()
    made = writer(folder / "journal")
    for _ in range(4):
        fill(made, 10)
    (folder / "token").write_text("a-secret-of-this-test")
    try:
        with two_hosts() as (near, far):
            serve = [sys.executable, "-m", "framegate", "journal", "serve", str(folder / "journal"), "--json"]
            serve += ["--listen", f"grpc://{near.address}:0", "--token-file", str(folder / "token")]
            server = subprocess.Popen(near.words(serve), stdout=subprocess.PIPE, text=True)
            assert server.stdout is not None
            try:
                ready = json.loads(server.stdout.readline())
                options = json.dumps({"endpoint": ready["endpoint"], "tokenFile": str(folder / "token")})
                query = [sys.executable, "-m", "tests.spark.programs.cluster_query", "local[2]", str(folder)]
                done = subprocess.run(
                    far.words([*query, options, str(made.next_row)], without=folder / "journal"),
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    timeout=WATCHDOG_S,
                    check=False,
                )
            finally:
                with suppress(ProcessLookupError):
                    server.terminate()
                out, _ = server.communicate(timeout=WATCHDOG_S)
    except NotHere as why:
        pytest.skip(f"two hosts cannot be made here: {why}")
    assert done.stdout.splitlines()[-1].strip() == "done", (done.stdout, done.stderr[-3000:])
    assert set(written(folder)) == totals(made.next_row)
    assert len(written(folder)) == made.next_row
    assert json.loads(out.splitlines()[-1])["rows"] == made.next_row
