# SPDX-License-Identifier: Apache-2.0
"""What a join says of itself: replaced as a whole, taken away at its end, and of no weight where it cannot be."""

from __future__ import annotations

import json
import os
from pathlib import Path

from framegate.joinbarrier.agent.notice import PERIOD_NS, Notice, notices
from framegate.joinbarrier.config.configuration import JoinConfig

CONFIG = JoinConfig.model_validate({"input": [{"name": "left", "stream": 1}]})
GONE = 2**30
S = 1_000_000_000


def test_a_join_says_how_many_rows_it_made_and_how_fast(tmp_path: Path) -> None:
    notice = Notice(str(tmp_path), CONFIG, tmp_path / "journal")
    notice.begin()
    assert [each["state"] for each in notices(str(tmp_path))] == ["attaching"]
    notice.tell(0, {"state": "joining"}, S)
    assert not notice.is_due(S + PERIOD_NS - 1)
    assert notice.is_due(S + PERIOD_NS)
    notice.tell(50, {"state": "joining"}, 2 * S)
    [found] = notices(str(tmp_path))
    assert (found["rows"], found["rows_per_s"], found["quiet_s"], found["is_living"]) == (50, 50.0, 0.0, True)
    notice.tell(50, {"state": "joining"}, 5 * S)
    [found] = notices(str(tmp_path))
    assert (found["rows_per_s"], found["quiet_s"]) == (0.0, 3.0)
    notice.end()
    assert list(tmp_path.iterdir()) == []


def test_a_join_that_was_killed_is_seen_until_the_next_one_of_its_output(tmp_path: Path) -> None:
    notice = Notice(str(tmp_path), CONFIG, tmp_path)
    notice.begin()
    [folder] = tmp_path.iterdir()
    [own] = folder.iterdir()
    (folder / f"20001-{GONE}.json").write_text(json.dumps({**json.loads(own.read_text()), "pid": GONE}))
    assert [each["is_living"] for each in notices(str(tmp_path))] == [False, True]
    notice.begin()
    assert [each["pid"] for each in notices(str(tmp_path))] == [os.getpid()]


def test_what_others_could_have_written_is_not_read(tmp_path: Path) -> None:
    notice = Notice(str(tmp_path), CONFIG, tmp_path)
    notice.begin()
    [folder] = tmp_path.iterdir()
    (folder / "junk.json").write_text("[1")
    assert len(list(notices(str(tmp_path)))) == 1
    folder.chmod(0o777)
    assert list(notices(str(tmp_path))) == []


def test_a_place_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    notice = Notice(str(tmp_path / "nowhere"), CONFIG, tmp_path)
    notice.begin()
    notice.tell(1, {}, S)
    notice.end()
