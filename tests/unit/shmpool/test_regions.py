# SPDX-License-Identifier: Apache-2.0
"""Region files made and opened against a hostile directory: what must be refused is, and nothing is left of it."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from framegate.schema.errors import FramegateError, NoRoom, NotAttached, RegionMismatch, RegionRefused
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.layout.region_numbers import SUPERBLOCK_BYTES
from framegate.spec.pool import Expected

from framegate._native import PoolRegions, region_mark
from tests.own_folder import own_folder

RING: Final = Expected(stream_id=10_000, epoch=7, nslots=4)
POOLS: Final = [(1, 64), (2, 4096)]
IS_ROOT: Final = os.geteuid() == 0


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory in shared memory, canonical and private, removed afterwards."""
    with own_folder("regions") as folder:
        yield folder.resolve()


def create(folder: Path, **changes: Any) -> PoolRegions:
    wanted: dict[str, Any] = {
        "stream_id": RING.stream_id,
        "epoch": RING.epoch,
        "nslots": RING.nslots,
        "pools": POOLS,
        "mode": 0o600,
        "prefault": False,
        "require_hugepages": False,
        "lock": False,
        "now_ns": 1000,
    }
    return PoolRegions.create(str(folder), **{**wanted, **changes})


def open_in(base: Path, folder: Path | None = None, **changes: Any) -> PoolRegions:
    """Open ``folder``'s regions, or those at ``ring`` and ``pools``, as a client that allows ``base`` alone."""
    place = folder or base / "pool"
    wanted: dict[str, Any] = {
        "stream_id": RING.stream_id,
        "epoch": RING.epoch,
        "nslots": RING.nslots,
        "pools": [(number, stride, f"{place}/{number}.pool") for number, stride in POOLS],
        "allowed": [str(base)],
        "writable": False,
        "require_hugepages": False,
        "prefault": False,
    }
    ring = str(changes.pop("ring", place / "header.ring"))
    return PoolRegions.open(ring, **{**wanted, **changes})


def reason(ask: Callable[[], object], kind: type[FramegateError] = RegionRefused) -> str:
    """Why it is refused."""
    with pytest.raises(kind) as caught:
        ask()
    assert type(caught.value) is kind
    return caught.value.message


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


# --- What is made -----------------------------------------------------------------------------------------


def test_made_files_have_the_length_and_the_superblock_of_the_protocol(base: Path) -> None:
    regions = create(base / "pool")
    expected = [RING, *(Expected(10_000, 7, 4, number, stride) for number, stride in POOLS)]
    names = ["header.ring", "1.pool", "2.pool"]
    assert regions.paths == [str(base / "pool" / name) for name in names]
    for name, region in zip(names, expected, strict=True):
        content = (base / "pool" / name).read_bytes()
        assert len(content) == region.file_bytes
        assert content == region.superblock(os.getpid(), 1000).encode_body().ljust(region.file_bytes, b"\0")
    assert regions.nbytes == sum(region.file_bytes for region in expected)


def test_made_files_have_all_their_memory_at_once(base: Path) -> None:
    create(base / "pool")
    for path in files_in(base):
        found = path.stat()
        assert found.st_blocks * 512 >= found.st_size


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640, 0o660])
def test_files_are_private_whatever_the_umask(base: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        create(base / "a/b", mode=mode)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files_in(base)} == {mode}


@pytest.mark.parametrize(
    ("mode", "folder_mode"),
    [
        pytest.param(0o600, 0o700, id="600"),
        pytest.param(0o660, 0o2770, id="660"),
    ],
)
def test_folders_are_private_whatever_the_umask(base: Path, mode: int, folder_mode: int) -> None:
    before = os.umask(0o077)
    try:
        create(base / "a/b", mode=mode)
    finally:
        os.umask(before)
    assert {stat.S_IMODE((base / name).stat().st_mode) for name in ("a", "a/b")} == {folder_mode}


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o666, 0o777, 0o1600, 0o4600])
def test_a_mode_for_others_makes_nothing(base: Path, mode: int) -> None:
    assert "others" in reason(lambda: create(base / "pool", mode=mode))
    assert files_in(base) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"nslots": 0},
        {"nslots": 3},
        {"pools": []},
        {"pools": [(1, 64), (1, 128)]},
        {"pools": [(1, 32)]},
        {"pools": [(1, 96)]},
        {"pools": [(1, 0)]},
        {"pools": [(0, 64)]},
        {"pools": [(1, 64), (2, 3000)]},
    ],
    ids=str,
)
def test_numbers_that_the_protocol_forbids_leave_nothing_half_made(base: Path, changes: dict[str, Any]) -> None:
    reason(lambda: create(base / "pool", **changes))
    assert files_in(base) == []


@pytest.mark.parametrize("name", ["header.ring", "1.pool", "2.pool"])
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_name_that_is_taken_is_never_taken_over(base: Path, name: str, kind: str) -> None:
    place, elsewhere = base / "pool" / name, base / "elsewhere"
    place.parent.mkdir()
    elsewhere.write_bytes(b"mine")
    match kind:
        case "file":
            place.write_bytes(b"mine")
        case "link":
            place.symlink_to(elsewhere)
        case _:
            place.mkdir()
    reason(lambda: create(base / "pool"))
    assert elsewhere.read_bytes() == b"mine"
    assert list(place.parent.iterdir()) == [place]
    assert kind != "file" or place.read_bytes() == b"mine"


def test_more_than_the_file_system_holds_is_no_room_and_leaves_nothing(base: Path) -> None:
    with pytest.raises(NoRoom) as caught:
        create(base / "pool", nslots=1 << 28, pools=[(1, 64), (2, 1 << 20)])
    assert caught.value.facts["want_bytes"] == 64 + (1 << 28) * 256
    assert files_in(base) == []


@contextmanager
def _small_file_system(at: Path, size: str) -> Iterator[None]:
    at.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(at)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("only who may mount can have a full file system of its own")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@pytest.mark.parametrize("prefault", [False, True])
def test_a_file_system_that_is_nearly_full_is_no_room_and_gets_all_of_it_back(base: Path, prefault: bool) -> None:
    with _small_file_system(base / "small", "1m"):
        free = os.statvfs(base / "small").f_bavail
        with pytest.raises(NoRoom) as caught:
            create(base / "small/pool", nslots=8, pools=[(1, 65536), (2, 65536)], prefault=prefault)
        assert caught.value.facts["want_bytes"] == 64 + 8 * 65536
        assert files_in(base) == []
        assert os.statvfs(base / "small").f_bavail == free
        create(base / "small/pool", nslots=8, pools=[(1, 65536)], prefault=prefault).close()


def test_huge_pages_are_never_downgraded(base: Path) -> None:
    assert "huge pages" in reason(lambda: create(base / "pool", require_hugepages=True))
    assert files_in(base) == []
    create(base / "pool")
    assert "huge pages" in reason(lambda: open_in(base, require_hugepages=True))


# --- What is opened: paths --------------------------------------------------------------------------------


@pytest.fixture
def made(base: Path) -> Path:
    """Regions that are sound, in ``base``."""
    create(base / "pool").close()
    return base


@pytest.mark.parametrize("writable", [False, True])
def test_what_was_made_is_opened(made: Path, writable: bool) -> None:
    regions = open_in(made, writable=writable)
    assert (regions.stream_id, regions.epoch, regions.nslots) == (10_000, 7, 4)
    assert (regions.activity(), regions.mapped_epoch()) == ((1000, os.getpid()), 7)
    regions.close()
    assert regions.is_closed
    with pytest.raises(NotAttached):
        regions.activity()


def test_only_who_maps_for_writing_refreshes_the_activity(made: Path) -> None:
    reader, owner = open_in(made), open_in(made, writable=True)
    reader.refresh_activity(5)
    assert reader.activity() == (1000, os.getpid())
    before = [path.read_bytes() for path in sorted(files_in(made))]
    owner.refresh_activity(2**63)
    assert reader.activity() == (2**63, os.getpid())
    after = [path.read_bytes() for path in sorted(files_in(made))]
    # In every region, that word and nothing else.
    assert after == [file[:56] + (2**63).to_bytes(8, "little") + file[64:] for file in before]


def test_a_superblock_that_changes_under_the_mapping_is_seen(made: Path) -> None:
    regions = open_in(made)
    with (made / "pool/header.ring").open("r+b") as file:
        file.seek(12)
        file.write(b"\x09")
        file.flush()
        assert regions.mapped_epoch() == 9
        file.seek(0)
        file.write(b"\0")
        file.flush()
    assert (regions.mapped_epoch(), regions.activity()) == (None, None)


@pytest.mark.parametrize("name", ["header.ring", "1.pool", "2.pool"])
def test_a_link_is_refused_even_where_it_points_at_the_right_file(made: Path, name: str) -> None:
    place = made / "pool" / name
    place.rename(made / "moved")
    place.symlink_to(made / "moved")
    assert "symbolic link" in reason(lambda: open_in(made))


def test_a_link_that_leads_out_is_refused(made: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        create(Path(other, "pool"))
        place = made / "pool/1.pool"
        place.unlink()
        place.symlink_to(f"{other}/pool/1.pool")
        assert "outside" in reason(lambda: open_in(made))
        (made / "door").symlink_to(other)
        assert "outside" in reason(lambda: open_in(made, made / "door/pool"))


def test_a_link_among_the_folders_that_stays_inside_is_followed(made: Path) -> None:
    (made / "door").symlink_to(made / "pool")
    assert open_in(made, made / "door").epoch == 7


def test_a_chain_and_a_loop_of_links_are_refused(made: Path) -> None:
    (made / "a").symlink_to(made / "b")
    (made / "b").symlink_to(made / "pool/header.ring")
    assert "symbolic link" in reason(lambda: open_in(made, ring=made / "a"))
    (made / "loop").symlink_to(made / "loop")
    reason(lambda: open_in(made, ring=made / "loop"))
    reason(lambda: open_in(made, ring=made / "loop/header.ring"))


def test_dots_are_resolved_before_the_path_is_compared(made: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        create(Path(other, "pool"))
        way_out = made / ".." / Path(other).name / "pool"
        assert "outside" in reason(lambda: open_in(made, way_out))
    assert open_in(made, made / "pool/../pool/.").epoch == 7


def test_a_folder_whose_name_begins_like_the_base_is_outside(made: Path) -> None:
    (made / "in").mkdir()
    assert "outside" in reason(lambda: open_in(made, allowed=[str(made / "poo"), str(made / "in")]))
    assert open_in(made, allowed=[str(made / "in"), str(made / "pool")]).epoch == 7


def test_an_empty_list_of_bases_refuses_everything(made: Path) -> None:
    assert "outside" in reason(lambda: open_in(made, allowed=[]))


def test_a_base_is_compared_as_it_was_given_and_not_resolved_again(made: Path) -> None:
    # Whoever gives the list made it canonical at start: a base that became a link since lets nobody in.
    (made / "alias").symlink_to(made / "pool")
    assert "outside" in reason(lambda: open_in(made, made / "alias", allowed=[str(made / "alias")]))


@pytest.mark.parametrize("ring", ["header.ring", "./header.ring", "", "~/header.ring"])
def test_a_path_that_is_not_absolute_is_refused(made: Path, ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made / "pool")
    assert "absolute" in reason(lambda: open_in(made, ring=ring))


def test_names_of_files_carry_no_meaning(made: Path) -> None:
    odd = [made / name for name in ("1.pool", "header.ring", "x")]
    for found, name in zip(("header.ring", "1.pool", "2.pool"), odd, strict=True):
        (made / "pool" / found).rename(name)
    pools = [(number, stride, str(path)) for (number, stride), path in zip(POOLS, odd[1:], strict=True)]
    assert open_in(made, ring=odd[0], pools=pools).paths == [str(path) for path in odd]
    # And nothing is looked for where it usually is.
    odd[2].rename(made / "2.pool")
    reason(lambda: open_in(made, ring=odd[0], pools=pools))


def test_a_file_that_is_exchanged_while_it_is_opened_is_noticed(made: Path) -> None:
    """Another thread puts one of two sound rings in place, again and again, until an open falls between its checks."""
    ring, spare, coming = made / "pool/header.ring", made / "spare", made / "coming"
    shutil.copy(ring, spare)
    shutil.copy(ring, made / "other")
    has_seen = threading.Event()

    def exchange() -> None:
        for source in itertools.cycle((spare, made / "other")):
            os.link(source, coming)
            coming.replace(ring)
            if has_seen.is_set():
                return

    def is_noticed() -> bool:
        try:
            open_in(made).close()
        except RegionRefused as refused:
            return "another file was put in its place" in refused.message
        return False

    with ThreadPoolExecutor(1) as thread:
        exchanging = thread.submit(exchange)
        deadline_ns = monotonic_ns() + 60_000_000_000
        try:
            while not (noticed := is_noticed()) and monotonic_ns() < deadline_ns:
                pass
        finally:
            has_seen.set()
        exchanging.result()
    assert noticed


def test_a_path_that_no_file_has_is_refused(made: Path) -> None:
    for ring in ("nowhere", "pool/header.ring/x", "pool/header.ring\0", "x" * 300):
        reason(lambda ring=ring: open_in(made, ring=f"{made}/{ring}"))  # type: ignore[misc]


# --- What is opened: files --------------------------------------------------------------------------------


def _fifo(place: Path) -> None:
    os.mkfifo(place, 0o600)


def _folder(place: Path) -> None:
    place.mkdir(0o700)


def _socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
    place.chmod(0o600)


def _device(place: Path) -> None:
    os.mknod(place, 0o600 | stat.S_IFCHR, os.makedev(1, 5))


KINDS: Final = [
    pytest.param(_fifo, "FIFO", id="fifo"),
    pytest.param(_folder, "directory", id="folder"),
    pytest.param(_socket, "socket", id="socket"),
    pytest.param(
        _device, "device", id="device", marks=pytest.mark.skipif(not IS_ROOT, reason="only root makes devices")
    ),
]


@pytest.mark.parametrize(("make", "what"), KINDS)
@pytest.mark.parametrize("name", ["header.ring", "2.pool"])
@pytest.mark.parametrize("writable", [False, True])
def test_what_is_no_regular_file_is_refused_without_waiting(
    made: Path, make: Callable[[Path], None], what: str, name: str, writable: bool
) -> None:
    place = made / "pool" / name
    place.unlink()
    make(place)
    assert what in reason(lambda: open_in(made, writable=writable))


def test_a_device_is_refused() -> None:
    assert "device" in reason(lambda: open_in(Path("/dev"), ring="/dev/zero"))


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o646, 0o666, 0o777])
@pytest.mark.parametrize("name", ["header.ring", "1.pool"])
def test_a_file_that_others_may_touch_is_refused(made: Path, name: str, mode: int) -> None:
    (made / "pool" / name).chmod(mode)
    assert "lets others in" in reason(lambda: open_in(made))


@pytest.mark.parametrize("name", ["header.ring", "1.pool", "2.pool"])
@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file away; without it see the test of root's own file")
def test_a_file_of_another_user_is_refused(made: Path, name: str) -> None:
    os.chown(made / "pool" / name, 65534, -1)
    assert "belongs to user 65534" in reason(lambda: open_in(made))


@pytest.mark.skipif(not IS_ROOT, reason="the kernel lets only root open a group's file from outside the group")
def test_a_file_that_another_group_shares_is_refused(made: Path) -> None:
    for path in files_in(made):
        os.chown(path, 65534, 65534)
        path.chmod(0o660)
    reason(lambda: open_in(made))


@pytest.mark.skipif(IS_ROOT, reason="root owns this file itself")
def test_a_root_owned_file_that_others_may_read_is_refused_for_its_mode() -> None:
    assert "lets others in" in reason(lambda: open_in(Path("/etc"), ring="/etc/passwd"))


@pytest.mark.parametrize("name", ["header.ring", "1.pool", "2.pool"])
@pytest.mark.parametrize("missing", [1, 64, -1])
def test_a_file_shorter_than_its_slots_is_refused(made: Path, name: str, missing: int) -> None:
    place = made / "pool" / name
    os.truncate(place, place.stat().st_size - missing if missing > 0 else 0)
    assert "bytes" in reason(lambda: open_in(made))


def test_a_longer_file_is_accepted(made: Path) -> None:
    with (made / "pool/1.pool").open("ab") as file:
        file.write(bytes(100))
    assert open_in(made).epoch == 7


def test_more_slots_than_the_file_has_are_refused_before_anything_is_mapped(made: Path) -> None:
    assert "bytes" in reason(lambda: open_in(made, nslots=1 << 31))


WRONG_FIELDS: Final = [
    # The field, its offset, and what another region would have there.
    ("magic", 0, b"\x30"),
    ("magic", 0, b"TPOLSHM1"),
    ("magic", 0, bytes(8)),
    ("layoutVersion", 8, b"\x02"),
    ("layoutVersion", 8, b"\x00"),
    ("epoch", 12, b"\x08"),
    ("epoch", 19, b"\x80"),
    ("streamId", 20, b"\x11"),
    ("regionType", 24, b"\x00"),
    ("regionType", 24, b"\x03"),
    ("regionType", 24, b"\xff\xff"),
    ("poolId", 26, b"\x09"),
    ("nslots", 28, b"\x08"),
    ("slotBytes", 32, b"\x01"),
]


@pytest.mark.parametrize("name", ["header.ring", "1.pool", "2.pool"])
@pytest.mark.parametrize(("field", "offset", "data"), WRONG_FIELDS, ids=str)
def test_a_superblock_that_contradicts_the_announce_is_refused_and_the_field_named(
    made: Path, name: str, field: str, offset: int, data: bytes
) -> None:
    with (made / "pool" / name).open("r+b") as file:
        file.seek(offset)
        file.write(data)
    with pytest.raises(RegionMismatch) as caught:
        open_in(made)
    assert caught.value.facts["field"] == field
    assert caught.value.facts["path"] == str(made / "pool" / name)


@pytest.mark.parametrize("stride", [0, 32, 128, 2**32 - 1])
def test_a_pools_stride_that_is_not_the_announced_one_is_refused(made: Path, stride: int) -> None:
    with (made / "pool/1.pool").open("r+b") as file:
        file.seek(36)
        file.write(stride.to_bytes(4, "little"))
    with pytest.raises(RegionMismatch) as caught:
        open_in(made)
    assert (caught.value.facts["field"], caught.value.facts["have"]) == ("strideBytes", stride)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"stream_id": 10_001}, "streamId"),
        ({"epoch": 6}, "epoch"),
        ({"epoch": 8}, "epoch"),
        ({"nslots": 2}, "nslots"),
        ({"nslots": 1}, "nslots"),
    ],
    ids=str,
)
def test_an_announce_of_something_else_is_refused(made: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(RegionMismatch) as caught:
        open_in(made, **changes)
    assert caught.value.facts["field"] == field


def test_files_under_each_others_names_are_refused(made: Path) -> None:
    ring, first, second = (str(made / "pool" / name) for name in ("header.ring", "1.pool", "2.pool"))
    for wrong in (
        {"ring": first},
        {"pools": [(1, 64, ring), (2, 4096, second)]},
        {"pools": [(1, 64, second), (2, 4096, first)]},
        {"pools": [(2, 64, first)]},
        {"pools": [(2, 4096, second), (1, 128, first)]},
    ):
        with pytest.raises((RegionMismatch, RegionRefused)):
            open_in(made, **wrong)


def _foreign(base: Path, ring: Expected, pools: list[Expected]) -> dict[str, Any]:
    """Files that a program with other rules left; what its announce says of them."""
    folder = base / "foreign"
    folder.mkdir(mode=0o700)
    for region in (ring, *pools):
        file = folder / f"{region.pool_id}.pool"
        file.write_bytes(bytes(region.superblock(pid=1, now_ns=1).encode_body()).ljust(region.file_bytes, b"\0"))
        file.chmod(0o600)
    return {
        "ring": folder / "0.pool",
        "nslots": ring.nslots,
        "pools": [(pool.pool_id, pool.stride_bytes, f"{folder}/{pool.pool_id}.pool") for pool in pools],
    }


@pytest.mark.parametrize("stride", [64, 128, 1 << 16])
def test_any_power_of_two_from_64_is_a_stride_whatever_the_page_size(base: Path, stride: int) -> None:
    announced = _foreign(base, RING, [Expected(10_000, 7, 4, 5, stride)])
    assert open_in(base, **announced).paths[1].endswith("5.pool")


@pytest.mark.parametrize("stride", [1, 32, 63, 96, 192, 4096 + 64])
def test_a_stride_that_breaks_the_rule_is_refused(base: Path, stride: int) -> None:
    announced = _foreign(base, RING, [Expected(10_000, 7, 4, 5, stride)])
    assert f"a stride of {stride} bytes" in reason(lambda: open_in(base, **announced))


@pytest.mark.parametrize("nslots", [0, 3, 6, 12])
def test_a_number_of_slots_that_is_no_power_of_two_is_refused(base: Path, nslots: int) -> None:
    ring = Expected(10_000, 7, nslots)
    announced = _foreign(base, ring, [Expected(10_000, 7, nslots, 5, 64)])
    assert f"{nslots} slots" in reason(lambda: open_in(base, **announced))


def test_a_pool_with_another_number_of_slots_than_its_ring_is_refused(base: Path) -> None:
    announced = _foreign(base, RING, [Expected(10_000, 7, 8, 5, 64)])
    with pytest.raises(RegionMismatch) as caught:
        open_in(base, **announced)
    assert (caught.value.facts["field"], caught.value.facts["have"]) == ("nslots", 8)


def test_regions_without_a_pool_or_with_one_id_twice_are_refused(made: Path) -> None:
    assert "no payload pool" in reason(lambda: open_in(made, pools=[]))
    twice = [(1, 64, str(made / "pool/1.pool"))] * 2
    assert "twice" in reason(lambda: open_in(made, pools=twice))


def test_refused_regions_leave_nothing_mapped(made: Path) -> None:
    (made / "pool/2.pool").chmod(0o604)
    reason(lambda: open_in(made))
    assert str(made) not in Path("/proc/self/maps").read_text()


# --- The mark of a region ---------------------------------------------------------------------------------


def test_the_mark_of_a_region_is_read_without_mapping_it(made: Path) -> None:
    assert region_mark(str(made / "pool/header.ring")) == (7, 10_000, os.getpid(), 1000)


def test_what_is_no_region_has_no_mark_and_nobody_waits_for_it(made: Path) -> None:
    _fifo(made / "fifo")
    (made / "link").symlink_to(made / "pool/header.ring")
    (made / "short").write_bytes(bytes(RING.superblock(1, 1).encode_body())[: SUPERBLOCK_BYTES - 1])
    (made / "zeroes").write_bytes(bytes(64))
    for name in ("fifo", "link", "short", "zeroes", "pool", "nowhere"):
        assert region_mark(str(made / name)) is None, name
