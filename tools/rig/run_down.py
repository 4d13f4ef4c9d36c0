# SPDX-License-Identifier: Apache-2.0
"""``framegate down``: tells the rig of a base directory to end, waits until it has, and removes its folder."""

from __future__ import annotations

import os
import select
import signal
from typing import Final

from framegate.schema.config.settings import load_client_settings
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, Interrupted, RigMissing
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.rig.options import PlaceOptions
from framegate.tools.rig.run_folder import RunFolder

_LOOK_AGAIN_S: Final = 0.5


def run(options: PlaceOptions) -> int:
    """End the rig. Returns the exit code. Raises RigMissing and Interrupted."""
    client = load_client_settings(os.environ, config=options.config, base_dir=options.base_dir)
    run_folder = RunFolder(client.base_dir)
    began_ns = monotonic_ns()
    state, pid = run_folder.state(), run_folder.supervisor()
    if state is None and pid is None:
        raise RigMissing("no rig runs with this base directory", base_dir=client.base_dir)
    if pid:
        _end(run_folder, pid)
    parts = run_folder.part_names()
    _take_away(run_folder)
    seconds = (monotonic_ns() - began_ns) / 1e9
    if options.json:
        emit({"event": "summary", "was_running": pid is not None, "parts": parts, "seconds": round(seconds, 6)})
    elif pid is None:
        print("the rig had ended before; its logs and its state are removed")
    else:
        print(f"the rig has ended, all {len(parts)} parts of it")
    return DONE


def _end(run_folder: RunFolder, pid: int) -> None:
    """Tell the supervisor to end, and not another process that has its number by now, and wait until it has."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if run_folder.supervisor() == pid:
            signal.pidfd_send_signal(process, signal.SIGTERM)
            _await_end(process, pid)
    except ProcessLookupError:
        return
    finally:
        os.close(process)


def _await_end(process: int, pid: int) -> None:
    """Wait for the end. The supervisor bounds this: each part has its grace time, and is then killed."""
    with StopSignal() as stop:
        stop.listen()
        while not select.select([process], [], [], 0)[0]:
            if stop.wait(_LOOK_AGAIN_S, process):
                raise Interrupted("ended by the user; the rig still ends", pid=pid)


def _take_away(run_folder: RunFolder) -> None:
    if run_folder.path.exists():
        run_folder.take().close(remove=True)
