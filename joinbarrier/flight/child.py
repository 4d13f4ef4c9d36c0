# SPDX-License-Identifier: Apache-2.0
"""A join agent's own journal server: a process that the agent starts, watches, and ends.

The server is no thread of the agent, because its work for each batch would need the GIL that the agent's loop needs,
and its mappings would be the agent's. A journal is files, so another process serves it as well. The server ends when
its standard input does; only the agent holds the other end.
"""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.schema.errors import FlightNotStarted
from framegate.shmpool.clock import Clock, monotonic_ns

_READY_S: Final = 30.0
_END_S: Final = 5.0
LOOK_NS: Final = 500_000_000
PAUSE_NS: Final = 500_000_000
PAUSE_NS_MAX: Final = 30_000_000_000
"""The longest pause before a restart. A server is restarted as long as the agent runs, but ever more rarely until it
lasts longer than this.
"""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightOptions:
    """The agent's command-line options for its server."""

    listen: str
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    base_dir: str | None = None
    """The agent's base directory; a server without a token keeps one there."""

    def words(self, listen: Endpoint) -> list[str]:
        """The server's command line. It names the token's file, or leaves the token to the environment, but never
        contains it.
        """
        found = ["--listen", listen.location]
        for name, path in (
            ("--token-file", self.token_file),
            ("--tls-cert", self.certificate),
            ("--tls-key", self.key),
        ):
            found += [] if path is None else [name, str(path)]
        return found


class FlightChild:
    """One server of one journal. Raises EndpointRefused and FlightNotStarted when it is made."""

    def __init__(
        self,
        directory: Path,
        options: FlightOptions,
        *,
        clock: Clock = monotonic_ns,
        program: Sequence[str] = (sys.executable, "-m", "framegate"),
    ) -> None:
        self._directory, self._options, self._clock, self._program = directory, options, clock, program
        self.endpoint = Endpoint.parse(options.listen)
        self.restarts = 0
        self._look_at_ns = 0
        self._pause_ns = PAUSE_NS
        self._start_at_ns: int | None = None
        self._process = self._started()
        # From now on always at this port, even if any was allowed: clients come back to it.
        ready = self._ready()
        self.endpoint = self.endpoint.at(ready["port"])
        self.token_file: str | None = ready.get("token_file")
        """The file, on this host, of the token that a reader must show."""

    @property
    def pid(self) -> int:
        """The server's process id, which changes with a restart."""
        return self._process.pid

    def look(self) -> None:
        """Restart the server if it has ended. Called between two slices of the join, so it never waits."""
        now_ns = self._clock()
        if now_ns < self._look_at_ns:
            return
        self._look_at_ns = now_ns + LOOK_NS
        if self._process.poll() is None:
            return
        if self._start_at_ns is None:
            _log.warning("the journal's server ended with %s; it is started anew", self._process.returncode)
            if now_ns - self._started_ns > PAUSE_NS_MAX:
                self._pause_ns = PAUSE_NS
            self._start_at_ns = now_ns + self._pause_ns
            self._pause_ns = min(2 * self._pause_ns, PAUSE_NS_MAX)
        elif now_ns >= self._start_at_ns:
            self._start_at_ns = None
            self._close_pipes()
            self.restarts += 1
            self._process = self._started()

    def close(self) -> None:
        """End it in good order, by force after a while."""
        assert self._process.stdin is not None  # noqa: S101 - it was started with one
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close_pipes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        self._started_ns = self._clock()
        words = [*self._program, "journal", "serve", str(self._directory), *self._options.words(self.endpoint)]
        return subprocess.Popen(
            [*words, "--child", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=None
            if self._options.base_dir is None
            else {**os.environ, "FRAMEGATE_BASE_DIR": self._options.base_dir},
            # Ctrl-C reaches a whole process group; the server must end only after the agent.
            start_new_session=True,
        )

    def _ready(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was started with one
        readable, _, _ = select.select([self._process.stdout], [], [], _READY_S)
        line = self._process.stdout.readline() if readable else b""
        said = _said(line)
        if said.get("event") == "ready":
            return said
        self.close()
        # Use the server's own words: its facts name the missing file, and its hint says what to do.
        facts = {"listen": self.endpoint, **said.get("facts", {})}
        raise FlightNotStarted(str(said["message"]), hint=str(said.get("hint", "")), **facts)

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _said(line: bytes) -> dict[str, Any]:
    """The object that the server printed, or one whose message quotes what it printed instead."""
    try:
        found = json.loads(line)
        if found["event"] == "ready" or isinstance(found["message"], str):
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    return {"message": f"it said {line[:200]!r}" if line else "the journal's server said nothing"}
