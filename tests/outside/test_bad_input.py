# SPDX-License-Identifier: Apache-2.0
"""What a person does wrong is answered by two lines with a number, and the second says what to write."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.outside.bed import ENVIRONMENT, FRAMEGATE, USAGE, WATCHDOG_S, Bed

CONFIG = """
[join]
out_stream = 20001
policy = "sequence"
journal = "out/joined"

[[input]]
name = "left"
stream = 10001
"""


def refused(folder: Path, *words: object) -> tuple[int, str, str]:
    """Exit code, and the two lines: nothing else is said."""
    done = subprocess.run(
        [FRAMEGATE, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=WATCHDOG_S, check=False
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done
    fact, hint = lines
    return done.returncode, fact, hint


@pytest.mark.parametrize(
    "words",
    [
        ("journal", "ls", "out/joined"),
        ("journal", "verify", "out/joined"),
        ("journal", "tail", "--follow", "out/joined"),
        ("journal", "export", "out/joined", "rows.parquet"),
        ("journal", "diff", "out/joined", "out/other"),
        ("journal", "serve", "out/joined"),
        ("audit", "out/joined"),
        ("audit", "file"),
    ],
)
def test_a_reader_before_its_journal(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("")
    code, fact, hint = refused(tmp_path, *words)
    assert (code, fact[: len("[FG-430 JOURNAL_MISSING]")]) == (1, "[FG-430 JOURNAL_MISSING]")
    assert "a join makes it" in hint


def test_what_was_published_is_in_no_file_or_in_another_one(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    code, fact, _ = refused(tmp_path, "audit", "out/joined", "--sent", "none.csv")
    assert (code, fact) == (USAGE, "[FG-904 FILE_MISSING] none.csv cannot be read: No such file or directory")
    code, fact, _ = refused(tmp_path, "audit", "out/joined", "--sent", "other.csv")
    assert (code, fact.partition("]")[0]) == (USAGE, "[FG-907 WRONG_USAGE")
    code, fact, _ = refused(tmp_path, "audit", "out/joined", "--recording", "other.csv")
    assert (code, fact.partition("]")[0]) == (USAGE, "[FG-907 WRONG_USAGE")


def test_a_port_in_use(own_bed: Bed) -> None:
    own_bed.driver()
    (own_bed.folder / "join.toml").write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"grpc://127.0.0.1:{taken.getsockname()[1]}"
        join = own_bed.run("join", "--config", "join.toml", "--flight", listen)
        assert join.ended() == ENVIRONMENT
    fact, hint = join.errors.splitlines()
    assert fact.startswith("[FG-449 FLIGHT_NOT_STARTED]")
    assert "in use" in fact
    assert hint.startswith("Choose another port")


SHAPES = """
import numpy as np
import framegate as fg

with fg.connect() as client, client.producer(10001, shape=(4, 6), dtype="uint8") as camera:
    camera.publish(np.zeros((4, 6), np.uint8))
    for frame in (np.zeros((6, 4), np.uint8), np.zeros((4, 6), np.float32), None):
        try:
            camera.publish(frame)
        except fg.errors.WrongArray as refused:
            print(str(refused).splitlines()[0], flush=True)
"""


def test_a_shape_that_changes(own_bed: Bed) -> None:
    own_bed.driver()
    program = own_bed.python(SHAPES)
    assert program.ended() == 0, program
    shape, dtype, nothing = program.lines
    assert "want_shape=[4, 6] have_shape=[6, 4]: its shape is not the producer's" in shape
    assert "its dtype is not the producer's" in dtype
    assert "a frame is a numpy array" in nothing
