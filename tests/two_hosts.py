# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine: two network namespaces with a cable between them, and a folder that one of them lacks.

It takes the rights of root, and a kernel that has namespaces and veth.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


class NotHere(Exception):
    """This machine cannot make them; the text says why."""


@dataclass(frozen=True, slots=True)
class Host:
    """One of them."""

    namespace: str
    address: str

    def words(self, command: Sequence[str], *, without: Path | None = None) -> list[str]:
        """The command as it is started there; ``without``: a folder that is empty there."""
        inside = ["ip", "netns", "exec", self.namespace]
        if without is not None:
            hidden = 'mount -t tmpfs none "$0" && exec "$@"'
            inside += ["unshare", "--mount", "sh", "-c", hidden, str(without)]
        return [*inside, *command]


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Both, gone at the end. Raises NotHere."""
    missing = [program for program in ("ip", "unshare", "mount") if shutil.which(program) is None]
    if missing:
        raise NotHere(f"no {', '.join(missing)}")
    number = os.getpid()
    # Names and addresses of this process's own: others may run the same test.
    network = f"10.{198 + number % 2}.{number // 250 % 250}"
    hosts = tuple(Host(f"fg{number}{letter}", f"{network}.{last}") for letter, last in (("a", 1), ("b", 2)))
    made = list[Host]()
    try:
        for host in hosts:
            _ip("netns", "add", host.namespace)
            made.append(host)
            _ip("-n", host.namespace, "link", "set", "lo", "up")
        first, second = hosts
        _ip("-n", first.namespace, "link", "add", "v", "type", "veth", "peer", "name", "v", "netns", second.namespace)
        for host in hosts:
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "v")
            _ip("-n", host.namespace, "link", "set", "v", "up")
        yield first, second
    finally:
        for host in made:
            subprocess.run(["ip", "netns", "delete", host.namespace], capture_output=True, check=False)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotHere(f"ip {' '.join(words)}: {done.stderr.strip() or done.returncode}")
