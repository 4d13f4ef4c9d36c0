# SPDX-License-Identifier: Apache-2.0
"""Joins that publish what they make: a diamond closes, and a function's frames are a stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from framegate.shmpool.commands.pattern import Pattern

from tests.system.frame_account import accounts, sent
from tests.system.join_bed import (
    LEFT,
    OUT,
    PAYLOAD_BYTES,
    JoinBed,
    assert_payloads_are_the_frames,
    assert_rows_go_on,
    summary_of,
)
from tests.system.journal_table import read_rows

if TYPE_CHECKING:
    from tests.system.conftest import System

FRAMES = 400
INVERTS = """
import numpy as np

def inverted(frame):
    return np.uint8(255) - frame
"""


@pytest.fixture
def bed(system: System, shm: Path) -> JoinBed:
    bed = JoinBed(system, shm)
    bed.start_driver()
    return bed


def test_a_diamond_of_two_agents_is_joined_again_frame_by_frame(bed: JoinBed) -> None:
    branches = {"b": OUT, "c": OUT + 1}
    agents = [
        bed.join(bed.lockstep(name, inputs={"source": LEFT}, out=stream, publish="source"))
        for name, stream in branches.items()
    ]
    closing = bed.join(bed.lockstep("closed", inputs=branches, out=OUT + 2))
    source = bed.counted(LEFT, consumers=2, gaps=0.05, count=FRAMES)
    for agent in agents:
        assert summary_of(agent)["rows"] == FRAMES
    assert summary_of(closing)["rows"] == FRAMES
    seqs = sorted(seq for _, seq in sent(source))
    rows = read_rows(bed.journal("closed"))
    assert [row.seqs("b", "c") for row in rows] == [(seq, seq) for seq in seqs]
    assert [row.out_seq for row in rows] == seqs
    # What comes by either way is the source's frame: its bytes and its time.
    assert_payloads_are_the_frames(bed.journal("closed"), dict.fromkeys(branches, LEFT))
    assert all(row.inputs["b"].timestamp_ns == row.inputs["c"].timestamp_ns is not None for row in rows)
    assert all(not account.causes for account in accounts(bed.journal("closed")).values())
    assert_rows_go_on(bed.journal("closed"))


def test_a_function_of_the_one_input_is_a_stream_that_ends_with_it(bed: JoinBed, tmp_path: Path) -> None:
    (tmp_path / "inverting.py").write_text(INVERTS)
    config = bed.lockstep(inputs={"source": LEFT}, publish="inverting:inverted")
    agent = bed.join(config, PYTHONPATH=str(tmp_path))
    pattern = Pattern("counter", stream=LEFT, payload_bytes=PAYLOAD_BYTES)
    with bed.pool.client() as client, client.consumer(OUT) as consumer:
        bed.counted(LEFT, gaps=0.05, count=FRAMES)
        frames = [(frame.seq, np.frombuffer(frame.tobytes(), np.uint8)) for frame in consumer]
    assert summary_of(agent)["rows"] == FRAMES
    assert [seq for seq, _ in frames] == [row.out_seq for row in read_rows(bed.journal())]
    assert all(pattern.holds(np.uint8(255) - payload, seq) for seq, payload in frames)
