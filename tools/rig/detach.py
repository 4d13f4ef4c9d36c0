# SPDX-License-Identifier: Apache-2.0
"""``framegate up --detach``: runs the supervisor as its own process, and waits until its rig is ready or failed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, FramegateError, PartFailed, numbered
from framegate.tools.rig.options import UpOptions
from framegate.tools.rig.part_words import event_of


def detach(options: UpOptions) -> int:
    """Start the supervisor, and return when every part runs. Raises the error that the supervisor ended with."""
    words = [sys.executable, "-m", "framegate", "up", str(options.file), "--background", "--json"]
    words += ["--base-dir", options.base_dir] if options.base_dir is not None else []
    words += ["--aeron-dir", options.aeron_dir] if options.aeron_dir is not None else []
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stdout is not None  # noqa: S101  (for the type checker)
        # The supervisor bounds this loop: it gives every part a time in which to be ready.
        for line in child.stdout:
            said = event_of(line)
            if said.get("event") == "ready":
                _say(child.pid, options)
                # The supervisor lives on after this process, which must not wait for it.
                child.returncode = DONE
                return DONE
            if said.get("event") == "error":
                raise error_of(said)
            if said.get("event") == "summary" and not options.json:
                print("the rig has ended already, in good order; `framegate status` shows it")
        code = child.wait()
    if code:
        raise PartFailed("the supervisor ended before its rig was ready", exit_code=code)
    return DONE


def _say(pid: int, options: UpOptions) -> None:
    if options.json:
        emit({"event": "ready", "pid": pid, "rig": str(options.file)})
        return
    print(f"the rig runs, supervised by process {pid}; see `framegate status`, `framegate logs`, `framegate down`")


def error_of(said: Mapping[str, object]) -> FramegateError:
    """The error that another process has printed as an object."""
    facts = said.get("facts")
    known = {str(key): value for key, value in facts.items()} if isinstance(facts, dict) else {}
    kind = next((each for each in numbered() if each.code == said.get("code")), PartFailed)
    return kind(str(said.get("message")), hint=str(said.get("hint") or kind.default_hint), **known)
