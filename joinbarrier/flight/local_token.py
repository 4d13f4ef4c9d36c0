# SPDX-License-Identifier: Apache-2.0
"""The default token of servers that only this host can reach: a file that only its user can read.

Every user of a host can connect to its loopback addresses, even users whom the mode of a journal's files keeps out.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from framegate.joinbarrier.flight.token import Token, read_token
from framegate.schema.config.settings import load_client_settings
from framegate.schema.errors import NoPermission
from framegate.shmpool.layout.owners import flaw_of_owner

NAME: Final = "flight.token"


def local_token_file(environment: Mapping[str, str]) -> Path:
    """The path of the token: in the base directory that the environment names, or in this user's default one."""
    return Path(load_client_settings(environment).base_dir) / NAME


def found_token_file(environment: Mapping[str, str]) -> Path | None:
    """The existing file for a client; None if it is missing, or is not this user's own."""
    path = local_token_file(environment)
    try:
        _check(path)
    except (OSError, NoPermission):
        return None
    return path


def own_token(environment: Mapping[str, str] = os.environ) -> Token | None:
    """The token that a client on this host shows to a server if it was given none."""
    file = found_token_file(environment)
    return None if file is None else read_token(file, environment)


def made_token_file(environment: Mapping[str, str]) -> Path:
    """The file for a server, made if it is missing. Raises NoPermission."""
    path = local_token_file(environment)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (flaw := flaw_of_owner(path.parent)) is not None:
            raise NoPermission(flaw, path=path.parent)
        if not path.exists():
            _make(path)
        _check(path)
    except OSError as refused:
        raise NoPermission(f"no token can be kept there: {refused.strerror}", path=path) from refused
    return path


def _make(path: Path) -> None:
    """Write the file whole or not at all, and only once: several servers may start at the same time."""
    new = path.with_name(f"{NAME}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, secrets.token_hex(32).encode() + b"\n")
    finally:
        os.close(descriptor)
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _check(path: Path) -> None:
    found = path.stat(follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        what = f"it is no secret of this user: owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}"
        raise NoPermission(what, path=path)
