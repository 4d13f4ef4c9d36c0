# SPDX-License-Identifier: Apache-2.0
"""Directories of another user are refused before anything in them is mapped, and do not stand in the way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from framegate.driver.driver_lock import DriverLock
from framegate.driver.mediadriver import MediaDriver
from framegate.driver.region_folders import RegionFolders

from tests.other_user import OTHER, as_other, give_to_other, needs_root

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

pytestmark = needs_root


def refusal(program: Program) -> tuple[int, str]:
    """The number and the words of an environment's error."""
    assert program.wait() == 3, program
    error = program.objects()[-1]
    return error["code"], error["message"]


@pytest.mark.parametrize("what", ["", "cnc.dat", "publications"])
@pytest.mark.parametrize("command", ["driver", "consume"])
def test_the_media_driver_of_another_user_is_not_joined(command: str, what: str, shm: Path, system: System) -> None:
    with MediaDriver(aeron_dir=str(shm / "aeron")):
        give_to_other(shm / "aeron" / what)
        words = ["--stream", "10001"] if command == "consume" else []
        program = system.framegate(
            command, *words, "--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool"), "--json"
        )
        assert refusal(program) == (313, f"it belongs to user {OTHER}, not to 0")


@pytest.mark.parametrize("folder", ["pool", "pool/tensorpool-root", "pool/tensorpool-root/default"])
def test_a_driver_does_not_make_regions_in_another_users_folder(folder: str, shm: Path, system: System) -> None:
    (shm / folder).mkdir(parents=True)
    give_to_other(shm / folder)
    program = system.framegate("driver", "--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool"), "--json")
    assert refusal(program) == (922, f"it belongs to user {OTHER}, not to 0")
    assert not (shm / "aeron").exists()


@pytest.mark.parametrize("up", range(4))
def test_regions_in_another_users_folder_are_not_mapped(up: int, shm: Path, system: System) -> None:
    """Whoever owns a folder can put another file in place of one in it. Each folder up to the base is looked at."""
    places = ["--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool"), "--json"]
    system.framegate("driver", *places).says(event="ready")
    producer = system.framegate("produce", "--stream", "10001", "--rate", "100", "--shape", "8x8", *places)
    producer.says(event="ready")
    (ring,) = sorted((shm / "pool").glob("*/*/10001/*/header.ring"))[-1:]
    give_to_other(ring.parents[up])
    consumer = system.framegate("consume", "--stream", "10001", *places)
    assert consumer.wait() != 0
    error = consumer.objects()[-1]
    assert error["code"] == 201, consumer
    assert f"its folder {ring.parents[up]} belongs to user {OTHER}" in error["message"]


def test_what_a_media_driver_makes_is_closed_to_others(shm: Path) -> None:
    shm.chmod(0o755)
    with MediaDriver(aeron_dir=str(shm / "aeron")):
        modes = {path.name: path.stat().st_mode & 0o077 for path in [shm / "aeron", *(shm / "aeron").iterdir()]}
    assert set(modes.values()) == {0}, modes


def test_the_first_users_driver_does_not_keep_others_from_theirs(shm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in /dev/shm, where everybody may make folders."""
    from framegate.schema.config import settings

    shm.chmod(0o1777)
    mine, theirs = Path(settings.default_base_dir()), []

    def their_driver_starts() -> None:
        theirs.append(Path(settings.default_base_dir()))
        folders = RegionFolders(shm / theirs[0].name, "default")
        with DriverLock(folders):
            pass
        folders.remove_made()
        assert theirs[0].name != mine.name

    with DriverLock(RegionFolders(shm / mine.name, "default")):
        as_other(their_driver_starts)
