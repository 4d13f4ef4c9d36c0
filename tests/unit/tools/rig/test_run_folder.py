# SPDX-License-Identifier: Apache-2.0
"""One rig for each base directory; what its state names is what is removed, and nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from framegate.schema.errors import NoPermission, RigPresent
from framegate.tools.rig.run_folder import LOCK, RunFolder


def test_a_second_rig_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    first = RunFolder(str(tmp_path)).take()
    second = RunFolder(str(tmp_path))
    with pytest.raises(RigPresent) as caught:
        second.take()
    assert caught.value.facts["pid"] == second.supervisor() == os.getpid()
    first.close()
    second.require_free()
    second.take().close(remove=True)


def test_who_only_looks_keeps_nobody_from_starting(tmp_path: Path) -> None:
    looks, has_ended = RunFolder(str(tmp_path)), threading.Event()

    def look() -> None:
        while not has_ended.is_set():
            looks.supervisor()

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(50):
            RunFolder(str(tmp_path)).take().close()
    finally:
        has_ended.set()
        watcher.join()


def test_a_rig_takes_away_what_its_state_names_and_no_other_file(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = RunFolder(str(base)).take()
    folder.write_state({"state": "running", "parts": [{"name": "left"}, {"name": "../../outside"}, "junk"]})
    (tmp_path / "outside.log").touch()
    for name in ("left.log", "left.log.1", "left.toml", "rig.log", "mine.txt"):
        (folder.path / name).touch()
    folder.close(remove=True)
    assert [each.name for each in folder.path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "outside.log").exists()


def test_nothing_is_left_of_a_folder_that_holds_nothing_else(tmp_path: Path) -> None:
    base = tmp_path / "base"
    folder = RunFolder(str(base)).take()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.close(remove=True)
    assert not base.exists()


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path)).take()
    folder.close()
    folder.path.chmod(0o777)
    with pytest.raises(NoPermission, match="others may write"):
        folder.take()


def test_a_state_of_another_version_or_half_of_one_is_none(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path)).take()
    for text in ('{"format": 99, "parts": []}', '{"format": 1', '{"format": 1, "parts": 7}', "[]"):
        (folder.path / "state.json").write_text(text)
        assert folder.state() is None
    assert (folder.path / LOCK).exists()
    folder.close(remove=True)
