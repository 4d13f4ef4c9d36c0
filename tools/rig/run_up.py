# SPDX-License-Identifier: Apache-2.0
"""``framegate up``: runs a whole rig from one file, until its parts have ended or it is told to end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, PartFailed
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.rig.checks import aeron_dir_of, check_machine, driver_config, has_driver
from framegate.tools.rig.load import LoadedRig, load_rig
from framegate.tools.rig.options import UpOptions
from framegate.tools.rig.part import SUPERVISOR
from framegate.tools.rig.plan import Plan
from framegate.tools.rig.rig_agent import RigAgent, environment_of_parts
from framegate.tools.rig.run_folder import RunFolder
from framegate.tools.rig.screen import Screen
from framegate.tools.rig.supervisor import Supervisor


def run(options: UpOptions) -> int:
    """Run a rig. Returns the exit code. Raises RigCycle, RigPresent, PartFailed, and errors of loading and checks."""
    rig = load_rig(options.file, os.environ, aeron_dir=options.aeron_dir, base_dir=options.base_dir)
    aeron_dir = aeron_dir_of(rig, os.environ)
    environment = environment_of_parts(os.environ, aeron_dir, rig.client.base_dir)
    run_folder = RunFolder(rig.client.base_dir)
    run_folder.require_free()
    config = driver_config(rig, os.environ)
    with_driver = has_driver(rig, config, os.environ)
    plan = Plan(rig, run_folder.path, has_driver=with_driver)
    check_machine(rig, plan.parts, environment)
    if options.detach:
        from framegate.tools.rig.detach import detach

        return detach(options)
    with StopSignal() as stop, _taken(run_folder, 0o2770 if config.shm.mode & 0o070 else 0o700) as kept:
        for path, text in plan.join_files().items():
            path.write_text(text)
        agent = _agent(rig, plan, run_folder, environment, options)
        stop.listen()
        try:
            agent.begin({"rig": str(rig.path), "aeron_dir": aeron_dir, "has_own_driver": not with_driver})
            if with_driver:
                agent.say(SUPERVISOR, f"a driver serves {rig.client.base_dir} already: the rig uses it")
            _serve(agent, stop, options)
        finally:
            agent.close()
        kept.is_kept = options.is_background or agent.supervisor.first_failed is not None
    return _ended(agent, options)


class _Kept:
    """Whether logs and state stay after the rig has ended: if nobody has seen them yet, or something failed."""

    is_kept = True


@contextmanager
def _taken(run_folder: RunFolder, mode: int) -> Iterator[_Kept]:
    kept = _Kept()
    run_folder.take(mode)
    try:
        yield kept
    finally:
        run_folder.close(remove=not kept.is_kept)


def _agent(
    rig: LoadedRig, plan: Plan, run_folder: RunFolder, environment: dict[str, str], options: UpOptions
) -> RigAgent:
    section = rig.file.rig
    supervisor = Supervisor(
        plan.parts,
        grace_ns=int(section.grace_s * 1e9),
        stops_on_failure=section.on_failed == "stop",
    )
    names = [SUPERVISOR, *(each.name for each in plan.parts)]
    return RigAgent(
        plan.parts,
        supervisor,
        run_folder,
        folder=rig.folder,
        environment=environment,
        log_bytes=section.log_bytes,
        grace_s=section.grace_s,
        show=None if options.is_background else Screen(names, as_json=options.json),
    )


def _serve(agent: RigAgent, stop: StopSignal, options: UpOptions) -> None:
    is_ready = False
    while not agent.is_over:
        agent.work(stop)
        if not is_ready and agent.supervisor.has_settled and not agent.supervisor.is_stopping:
            is_ready = True
            agent.say(SUPERVISOR, "ready: every part runs, or waits for the end of another")
            if options.json:
                emit({"event": "ready", "pid": os.getpid(), "rig": str(Path(options.file).absolute())})
            if options.is_background:
                _leave_terminal()


def _leave_terminal() -> None:
    """Let go of the terminal: the program that waited for the ready line has it, and may end."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(null, stream.fileno())
    os.close(null)


def _ended(agent: RigAgent, options: UpOptions) -> int:
    summary = agent.summary()
    failed = agent.supervisor.first_failed
    if options.json:
        emit({"event": "summary", **summary})
    if failed is not None:
        life = agent.supervisor.lives[failed]
        raise PartFailed(
            "a part of the rig failed for good",
            hint=f"See what it said: framegate logs {failed}. Its restart and restarts_max say when it starts anew.",
            part=failed,
            last_exit=life.last_exit,
            restarts=life.restarts,
        )
    if not options.json and not options.is_background:
        print(f"the rig has ended; all {len(summary['parts'])} parts in good order")
    return DONE
