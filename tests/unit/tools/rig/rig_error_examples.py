# SPDX-License-Identifier: Apache-2.0
"""How rigs come to raise their errors."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from framegate.schema.errors import FramegateError, PartFailed
from framegate.tools.rig.checks import check_machine
from framegate.tools.rig.detach import error_of
from framegate.tools.rig.load import load_rig
from framegate.tools.rig.options import PlaceOptions
from framegate.tools.rig.plan import Plan
from framegate.tools.rig.run_down import run as down
from framegate.tools.rig.run_folder import RunFolder


def _checked(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rig.toml")
        file.write_text(text)
        rig = load_rig(file, {})
        plan = Plan(rig, Path(folder, "run"))
        check_machine(rig, plan.parts, {"PATH": "/bin"})


def _start_two_rigs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        first, second = RunFolder(folder), RunFolder(folder)
        first.take()
        try:
            second.take()
        finally:
            first.close(remove=True)


def _end_no_rig() -> None:
    with tempfile.TemporaryDirectory() as folder:
        down(PlaceOptions(base_dir=folder))


def _listen_where_somebody_does() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as other:
        Path(folder, "journal.json").touch()
        port = other.getsockname()[1]
        _checked(f"[server.s]\njournals = ['{folder}']\nlisten = 'grpc://127.0.0.1:{port}'\n")


def _fail_in_the_background() -> None:
    error: FramegateError = error_of({"code": PartFailed.code, "message": "left failed", "facts": {"part": "left"}})
    raise error


RIG_ERROR_EXAMPLES: Final[dict[int, Callable[[], object]]] = {
    940: lambda: _checked(
        '[command.a]\ncommand = "true"\nafter = ["b"]\n[command.b]\ncommand = "true"\nafter = ["a"]\n'
    ),
    941: _start_two_rigs,
    942: _end_no_rig,
    943: _listen_where_somebody_does,
    944: lambda: _checked("[server.s]\njournals = ['nowhere']\n"),
    945: _fail_in_the_background,
    946: lambda: _checked('[command.a]\ncommand = ["no-such-program"]\n'),
}
