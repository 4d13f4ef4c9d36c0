# SPDX-License-Identifier: Apache-2.0
"""The machine as the doctor sees it, behind one value, so that a test can imitate any broken machine."""

from __future__ import annotations

import importlib.metadata
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

Status: TypeAlias = Literal["ok", "warn", "fail"]
UNLIMITED: Final = resource.RLIM_INFINITY
_COMMAND_TIMEOUT_S: Final = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. ``mend`` says what to do about a warning or a failure; it is empty if all is well."""

    name: str
    status: Status
    found: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the configuration needs from the machine."""

    base_dir: str
    aeron_dir: str
    namespace: str = "default"
    region_root: str = ""
    """The folder of this user's streams, below the base directory; empty if it is not known."""
    bytes_per_stream: int = 0
    require_hugepages: bool = False
    mlock: bool = False
    threading: str = "shared"
    idle: str = "backoff"


@dataclass(frozen=True, slots=True)
class LeaseDriver:
    """What the lock file says of a lease driver."""

    pid: int
    state: Literal["runs", "stands still", "has ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine as the checks see it. A function that returns None found nothing."""

    environment: Mapping[str, str]
    python: tuple[int, int]
    executable: str
    cores: int
    read: Callable[[str], str | None]
    run: Callable[[Sequence[str]], str | None]
    which: Callable[[str], str | None]
    installed: Callable[[str], str | None]
    is_directory: Callable[[str], bool]
    is_writable: Callable[[str], bool]
    free_bytes: Callable[[str], int | None]
    limit: Callable[[str], int]
    native_failure: Callable[[], str | None]
    media_driver: Callable[[], str | None]
    is_live: Callable[[str], bool]
    exists: Callable[[str], bool]
    lease_driver: Callable[[str, str], LeaseDriver | None]
    """Finds the lease driver of a base directory and namespace."""


def this_machine(environment: Mapping[str, str]) -> Machine:
    """The machine that this process runs on."""
    return Machine(
        environment=environment,
        python=(sys.version_info.major, sys.version_info.minor),
        executable=sys.executable,
        cores=len(os.sched_getaffinity(0)),
        read=_read,
        run=_run,
        which=shutil.which,
        installed=_installed,
        # The function of pathlib is not used: it raises if this user may not read the folder.
        is_directory=os.path.isdir,
        is_writable=lambda path: os.access(path, os.R_OK | os.W_OK | os.X_OK),
        free_bytes=_free_bytes,
        limit=lambda name: resource.getrlimit(getattr(resource, name))[0],
        native_failure=_native_failure,
        media_driver=_media_driver,
        is_live=_is_live,
        exists=os.path.lexists,
        lease_driver=_lease_driver,
    )


def existing_part(path: str, is_directory: Callable[[str], bool]) -> str:
    """The deepest directory of ``path`` that exists. Everything below it will be made in it."""
    for folder in [Path(path), *Path(path).parents]:
        if is_directory(str(folder)):
            return str(folder)
    return "/"


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return None


def _run(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    # java -version writes to standard error.
    return done.stdout + done.stderr if done.returncode == 0 else None


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _free_bytes(path: str) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _native_failure() -> str | None:
    try:
        import framegate._native  # noqa: F401
    except ImportError as failure:
        return str(failure)
    return None


# The next two functions import a native module that may not load. The checks that need them then report that.


def _media_driver() -> str | None:
    from framegate.driver.mediadriver import find_program

    program = find_program()
    return str(program) if program else None


def _is_live(aeron_dir: str) -> bool:
    from framegate.driver.mediadriver import is_live

    return is_live(aeron_dir)


def _lease_driver(base_dir: str, namespace: str) -> LeaseDriver | None:
    from framegate.driver.driver_lock import lock_owner
    from framegate.driver.region_folders import RegionFolders

    owner = lock_owner(RegionFolders(Path(os.path.realpath(base_dir)), namespace))
    if owner is None:
        return None
    if not owner.is_held:
        return LeaseDriver(owner.pid, "has ended")
    return LeaseDriver(owner.pid, "stands still" if _is_stopped(owner.pid) else "runs")


def _is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal."""
    found = _read(f"/proc/{pid}/stat") or ""
    # The name of the process is in parentheses, and may contain anything. The state comes after it.
    return found.rpartition(")")[2].split()[:1] in (["T"], ["t"])
