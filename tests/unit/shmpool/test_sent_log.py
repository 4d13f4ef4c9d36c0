# SPDX-License-Identifier: Apache-2.0
"""The log of sent frames: what it holds when its writer is gone, and where it cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.errors import FileMissing
from framegate.shmpool.commands.sent_log import SentLog


def test_every_line_is_in_the_file_before_the_log_is_closed(tmp_path: Path) -> None:
    log = SentLog(tmp_path / "sent.csv")
    log.note(10_001, 7, 0, 123)
    log.note(10_001, 7, 3, None)
    assert (tmp_path / "sent.csv").read_text() == "stream,epoch,seq,timestamp_ns\n10001,7,0,123\n10001,7,3,\n"
    log.close()


def test_a_log_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="the log of sent frames"):
        SentLog(tmp_path / "nowhere" / "sent.csv")
