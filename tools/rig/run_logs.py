# SPDX-License-Identifier: Apache-2.0
"""``framegate logs``: prints the log of a rig, or of one of its parts, and optionally what follows."""

from __future__ import annotations

import difflib
import os
from collections import deque
from dataclasses import dataclass
from itertools import chain

from framegate.schema.config.settings import load_client_settings
from framegate.schema.errors import DONE, RigMissing, WrongUsage
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.rig.log_file import LogTail, read_logs
from framegate.tools.rig.options import PlaceOptions
from framegate.tools.rig.part import SUPERVISOR
from framegate.tools.rig.run_folder import RunFolder
from framegate.tools.rig.screen import Screen

_LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsOptions(PlaceOptions):
    """``framegate logs``."""

    name: str | None = None
    follow: bool = False
    lines: int = 200


def run(options: LogsOptions) -> int:
    """Print the log. Returns the exit code. Raises RigMissing and WrongUsage."""
    client = load_client_settings(os.environ, config=options.config, base_dir=options.base_dir)
    run_folder = RunFolder(client.base_dir)
    if run_folder.state() is None:
        raise RigMissing("no rig runs, or ran, with this base directory", base_dir=client.base_dir)
    names = [SUPERVISOR, *run_folder.part_names()]
    wanted = names if options.name is None else [_known(options.name, names)]
    paths = [run_folder.log(name) for name in wanted]
    screen = Screen(names, as_json=options.json, is_patient=True)
    with StopSignal() as stop:
        # Following begins before the old lines are read, so that no line is missed between the two.
        tails = [LogTail(path) for path in paths] if options.follow else []
        newest = None
        for line in deque(read_logs(paths), maxlen=options.lines):
            newest = line.stamp
            screen.show(line)
        while tails:
            is_last = run_folder.supervisor() is None
            for line in sorted(chain.from_iterable(tail.read() for tail in tails)):
                if newest is None or line.stamp > newest:
                    screen.show(line)
            if is_last or stop.wait(_LOOK_AGAIN_S):
                break
        for tail in tails:
            tail.close()
    return DONE


def _known(name: str, names: list[str]) -> str:
    if name not in names:
        nearest = difflib.get_close_matches(name, names, 1, 0.0)[0]
        raise WrongUsage(
            f"the rig has no part {name!r}: its parts are {', '.join(names[1:])}; the nearest is {nearest}"
        )
    return name
