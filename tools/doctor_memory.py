# SPDX-License-Identifier: Apache-2.0
"""Checks of shared memory, limits and cores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from framegate.tools.doctor_machine import UNLIMITED, Finding, Machine, Wanted, existing_part

_MIB: Final = 1024 * 1024
# The memory of a media driver and a lease driver when they are ready (72 MiB), with the logs of a few clients.
_AERON_BYTES: Final = 80 * _MIB
_STREAMS_COMFORTABLE: Final = 4
_NOFILE_MIN: Final = 256
_NOFILE_COMFORTABLE: Final = 1024
_MEMORY_FILE_SYSTEMS: Final = {"tmpfs", "hugetlbfs", "ramfs"}
_DRIVER_THREADS: Final = {"shared": 1, "shared_network": 2, "dedicated": 3}


def shared_memory_room(machine: Machine, wanted: Wanted) -> Finding:
    """Whether there is space for one stream, or comfortably for a few."""
    folder = existing_part(wanted.base_dir, machine.is_directory)
    free = machine.free_bytes(folder)
    mend = f"Enlarge it: mount -o remount,size=4g {_mount_point(machine, folder)} (in a container: --shm-size=4g)."
    if free is None:
        return Finding("shared memory room", "fail", f"{folder} cannot be examined", "Mount a tmpfs there.")
    needed = wanted.bytes_per_stream + _aeron_bytes(machine, wanted, folder)
    found = f"{free // _MIB} MiB free in {folder}; a stream takes {wanted.bytes_per_stream // _MIB} MiB"
    if free < needed:
        return Finding("shared memory room", "fail", found, f"{mend} Or make rings smaller: --slots, --frame-bytes.")
    if free < needed * _STREAMS_COMFORTABLE:
        return Finding("shared memory room", "warn", found, mend)
    return Finding("shared memory room", "ok", found)


def _aeron_bytes(machine: Machine, wanted: Wanted, folder: str) -> int:
    """How much the media driver will still take from the same file system."""
    if machine.is_live(wanted.aeron_dir):
        return 0
    beside = existing_part(wanted.aeron_dir, machine.is_directory)
    return _AERON_BYTES if _mount_point(machine, beside) == _mount_point(machine, folder) else 0


def shared_memory_rights(machine: Machine, wanted: Wanted) -> Finding:
    """Whether this user may make regions there."""
    folder = existing_part(wanted.region_root or wanted.base_dir, machine.is_directory)
    below = Path(wanted.region_root or wanted.base_dir).relative_to(folder).parts
    if machine.is_writable(folder) and below and machine.exists(blocked := str(Path(folder, below[0]))):
        mend = "Remove it, or choose another directory with --base-dir."
        return Finding("shared memory rights", "fail", f"{blocked} is no directory", mend)
    if not machine.is_writable(folder):
        mend = f"Choose another directory with --base-dir, or: sudo chmod 1777 {folder}"
        return Finding("shared memory rights", "fail", f"{folder} cannot be read and written by this user", mend)
    return Finding("shared memory rights", "ok", f"{folder} is writable")


def shared_memory_mount(machine: Machine, wanted: Wanted) -> Finding:
    """Whether the folder is in memory, and mounted for writing."""
    name = "shared memory mount"
    mounted = _mount(machine, existing_part(wanted.base_dir, machine.is_directory))
    if mounted is None:
        return Finding(name, "warn", "/proc/mounts does not list it", "Check by hand: findmnt -T DIR")
    point, kind, options = mounted
    found = f"{kind} on {point} ({options})"
    if "ro" in options.split(","):
        return Finding(name, "fail", found, f"It is read-only: mount -o remount,rw {point}")
    if kind not in _MEMORY_FILE_SYSTEMS:
        return Finding(name, "warn", found, "It is on a disk, which is slow: use a directory below /dev/shm.")
    return Finding(name, "ok", found)


def _mount(machine: Machine, folder: str) -> tuple[str, str, str] | None:
    """Mount point, type and options of the longest mount point above ``folder``. A later mount hides an earlier one."""
    best: tuple[str, str, str] | None = None
    for line in (machine.read("/proc/mounts") or "").splitlines():
        fields = line.split()
        if len(fields) < 4:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[1])
        inside = folder == point or folder.startswith(f"{point.rstrip('/')}/")
        if inside and (best is None or len(point) >= len(best[0])):
            best = point, fields[2], fields[3]
    return best


def _mount_point(machine: Machine, folder: str) -> str:
    mounted = _mount(machine, folder)
    return mounted[0] if mounted else folder


def huge_pages(machine: Machine, wanted: Wanted) -> Finding:
    """Whether there are enough huge pages, if the configuration requires them."""
    flags = re.MULTILINE
    numbers = dict(re.findall(r"^(HugePages_\w+|Hugepagesize):\s+(\d+)", machine.read("/proc/meminfo") or "", flags))
    total, free = int(numbers.get("HugePages_Total", 0)), int(numbers.get("HugePages_Free", 0))
    if not wanted.require_hugepages:
        return Finding("huge pages", "ok", f"{total} reserved, {free} free; not required by the configuration")
    page_bytes = int(numbers.get("Hugepagesize", 2048)) * 1024
    needed = -(-wanted.bytes_per_stream // page_bytes)
    found = f"{free} of {total} free; a stream takes {needed}"
    mend = f"sudo sysctl vm.nr_hugepages={needed * _STREAMS_COMFORTABLE}, and mount hugetlbfs at shm.base_dir"
    if free < needed:
        return Finding("huge pages", "fail", found, mend)
    mounted = _mount(machine, existing_part(wanted.base_dir, machine.is_directory))
    if mounted is None or mounted[1] != "hugetlbfs":
        return Finding("huge pages", "fail", f"{wanted.base_dir} is not on hugetlbfs", mend)
    return Finding("huge pages", "ok", found)


def locked_memory(machine: Machine, wanted: Wanted) -> Finding:
    """Whether the limit on locked memory is high enough, if mlock_shm is on."""
    limit = machine.limit("RLIMIT_MEMLOCK")
    found = f"limit {_amount(limit)}"
    if not wanted.mlock:
        return Finding("locked memory", "ok", f"{found}; policies.mlock_shm is off")
    if limit != UNLIMITED and limit < wanted.bytes_per_stream:
        mend = "ulimit -l unlimited (in a container: --ulimit memlock=-1), or policies.mlock_shm = false"
        return Finding("locked memory", "fail", f"{found}, a stream locks {_amount(wanted.bytes_per_stream)}", mend)
    return Finding("locked memory", "ok", found)


def _amount(number: int) -> str:
    if number == UNLIMITED:
        return "unlimited"
    return f"{number // _MIB} MiB" if number >= _MIB else f"{number // 1024} KiB"


def open_files(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether enough files may be open: each stream, pool and Aeron log is one."""
    limit = machine.limit("RLIMIT_NOFILE")
    found = "limit unlimited" if limit == UNLIMITED else f"limit {limit}"
    mend = "ulimit -n 65536 (permanently in /etc/security/limits.conf)"
    if limit != UNLIMITED and limit < _NOFILE_MIN:
        return Finding("open files", "fail", found, mend)
    if limit != UNLIMITED and limit < _NOFILE_COMFORTABLE:
        return Finding("open files", "warn", found, mend)
    return Finding("open files", "ok", found)


def cores(machine: Machine, wanted: Wanted) -> Finding:
    """Whether there are enough cores: each thread that never sleeps needs one, and producers and agents one more."""
    available = min(machine.cores, _quota(machine) or machine.cores)
    threads = _DRIVER_THREADS[wanted.threading]
    found = f"{available} for {threads} media driver thread(s), idle strategy {wanted.idle}"
    if wanted.idle in {"busy", "yield"} and available < threads + 2:
        mend = 'Set media_driver.idle = "backoff" and threading = "shared", or give it more cores.'
        return Finding("cores", "warn", found, mend)
    if available < 2:
        mend = "Give it two cores or more: with one, producers, drivers and readers only take turns."
        return Finding("cores", "warn", found, mend)
    return Finding("cores", "ok", found)


def _quota(machine: Machine) -> int | None:
    """How many cores a container's quota allows, rounded down; None without a quota."""
    limit = re.fullmatch(r"(\d+) (\d+)\s*", machine.read("/sys/fs/cgroup/cpu.max") or "")
    return max(1, int(limit[1]) // int(limit[2])) if limit and int(limit[2]) else None
