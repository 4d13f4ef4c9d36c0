# SPDX-License-Identifier: Apache-2.0
"""``framegate demo``: a media driver and two processes that exchange a MergeMap, and what went over the wire."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from framegate.driver.mediadriver import MediaDriver, is_live
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE, DemoFailed
from framegate.tools.demo_options import DemoOptions

_DEFAULT_SECONDS: Final = 20.0
_PEER: Final = "framegate.tools.demo_peer"
_log = logging.getLogger(__name__)


def run(options: DemoOptions) -> int:
    """Run the exchange and show it; the exit code."""
    seconds = options.seconds or _DEFAULT_SECONDS
    with _media_driver(options.aeron_dir) as aeron_dir:
        messages = exchange(aeron_dir, seconds=seconds)
    if options.json:
        for message in messages:
            emit(message)
        emit({"event": "summary", "messages": len(messages), "bytes": sum(message["bytes"] for message in messages)})
    else:
        print("Two processes met on the control stream; one needed a MergeMap, the other owns it:\n")
        print_table(_COLUMNS, _rows(messages))
    return DONE


@contextmanager
def _media_driver(aeron_dir: str | None) -> Iterator[str]:
    """A directory with a live driver: the given one, else one of our own that leaves nothing behind."""
    if aeron_dir is not None and is_live(aeron_dir):
        yield aeron_dir
        return
    with ExitStack() as stack:
        if aeron_dir is None:
            shm = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  (Aeron's logs belong in memory)
            home = tempfile.mkdtemp(prefix="framegate-demo-", dir=shm)
            stack.callback(shutil.rmtree, home, ignore_errors=True)
            aeron_dir = f"{home}/aeron"
        stack.enter_context(MediaDriver(aeron_dir=aeron_dir))
        yield aeron_dir


def exchange(
    aeron_dir: str, *, seconds: float, request_channel: str | None = None, announce_channel: str | None = None
) -> list[dict[str, Any]]:
    """Let an authority and a requester meet in processes of their own; every message, in the order of its time."""
    words = ["--aeron-dir", aeron_dir, "--seconds", str(seconds)]
    words += ["--request-channel", request_channel] if request_channel else []
    words += ["--announce-channel", announce_channel] if announce_channel else []
    authority, requester = _start("authority", words), _start("requester", words)
    try:
        asked, _ = requester.communicate(timeout=seconds + 10)
    finally:
        _end(requester)
        answered = _end(authority)
    if requester.returncode != DONE:
        raise DemoFailed("the requester was not answered", exit_code=requester.returncode, seconds=seconds)
    return sorted(_messages(asked) + _messages(answered), key=lambda message: int(message["at_ns"]))


def _start(role: str, words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", _PEER, role, *words], stdout=subprocess.PIPE, text=True, env=os.environ
    )


def _end(peer: subprocess.Popen[str]) -> str:
    """End it by the pid that we started; what it printed and nobody has read yet."""
    if peer.stdout is None or peer.stdout.closed:
        return ""
    peer.terminate()
    try:
        return peer.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        peer.kill()
        return peer.communicate()[0]


def _messages(lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines.splitlines()]


_COLUMNS: Final = ("time", "process", "what", "message", "bytes", "contents")


def _rows(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    began_ns = messages[0]["at_ns"]
    return [
        (
            f"{(message['at_ns'] - began_ns) / 1e3:,.0f} us",
            message["role"],
            message["event"],
            message["message"],
            str(message["bytes"]),
            message["text"],
        )
        for message in messages
    ]
