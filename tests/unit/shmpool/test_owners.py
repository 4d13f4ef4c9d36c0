# SPDX-License-Identifier: Apache-2.0
"""What counts as this user's own: files and folders that nobody else can change."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.shmpool.layout.owners import flaw_of_owner

from tests.other_user import OTHER, as_other, give_to_other, needs_root


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o770, 0o1777])
def test_what_is_ours_is_sound(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert flaw_of_owner(tmp_path) is None


@pytest.mark.parametrize("mode", [0o777, 0o702])
def test_where_others_may_write_is_not_ours(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    assert flaw_of_owner(tmp_path) == f"others may write there, mode {mode:o}"


def test_nothing_is_sound(tmp_path: Path) -> None:
    assert flaw_of_owner(tmp_path / "absent") is None


@needs_root
@pytest.mark.parametrize("mode", [0o700, 0o770])
def test_what_another_user_owns_is_not_ours(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    give_to_other(tmp_path)
    assert flaw_of_owner(tmp_path) == f"it belongs to user {OTHER}, not to 0"


@needs_root
def test_roots_own_is_everybodys() -> None:
    def act() -> None:
        assert flaw_of_owner(Path("/dev/shm")) is None  # noqa: S108  (nothing is written)

    as_other(act)
