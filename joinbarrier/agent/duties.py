# SPDX-License-Identifier: Apache-2.0
"""What every join does for its native engine, live or offline: it gives the engine maps and output times, and sums
up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from framegate.joinbarrier.agent.plan import noted_map
from framegate.joinbarrier.barriers.native import map_numbers
from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.user_function import user_function
from framegate.joinbarrier.journal.causes import surplus
from framegate.joinbarrier.journal.folder import JournalFolder
from framegate.joinbarrier.maps.mergemap import MergeMap
from framegate.joinbarrier.maps.rules import refused
from framegate.shmpool.clock import monotonic_ns

from framegate._native import JoinEngine

_TIMES_AHEAD: Final = 64


def apply_map(engine: JoinEngine, config: JoinConfig, folder: JournalFolder, applied: MergeMap) -> int:
    """Give the engine a map and note it in the journal. Returns its version; raises MapRefused if it cannot be
    applied."""
    out_stream, epoch, stale_ns, times, rules = map_numbers(applied)
    noted = noted_map(config, applied)
    version = folder.version_of(noted)
    refusal = engine.apply_map(epoch, stale_ns, times, rules, version)
    if refusal is not None:
        rule, stream, reason = refusal
        where = {} if rule is None else {"rule": rule, "stream": stream}
        raise refused({"reason": reason, **where}, out_stream=out_stream, epoch=epoch)
    # The journal notes the map before it gets a row: the engine makes rows only when this thread runs it.
    folder.note_map(noted)
    return version


def recall_by(engine: JoinEngine, config: JoinConfig, folder: JournalFolder, known: MergeMap) -> None:
    """Apply a map so that frames of a checkpoint can be recalled. Afterwards the engine waits for an announced map."""
    _, epoch, stale_ns, times, rules = map_numbers(known)
    engine.apply_map(epoch, stale_ns, times, rules, folder.version_of(noted_map(config, known)))


def external_times(config: JoinConfig) -> Callable[[], int | None] | None:
    """The function that gives the next output time, for an external drive; None for every other drive."""
    if config.drive.kind != "external":
        return None
    return user_function("join.drive", config.drive.target)


def push_times(engine: JoinEngine, next_time: Callable[[], int | None]) -> int:
    """Give the engine output times until there are no more or it takes no more. Returns how many it took."""
    for pushed in range(_TIMES_AHEAD):
        out_time = next_time()
        if out_time is None or not engine.push_time(int(out_time)):
            return pushed
    return _TIMES_AHEAD


def summary_of(counted: dict[str, Any], began_ns: int) -> dict[str, Any]:
    """The summary of a join, made from the counters of its engine."""
    seconds = (monotonic_ns() - began_ns) / 1e9
    keys = ("rows", "ticks_not_ready", "absent", "overwritten", "unmatched", "bytes")
    rest = {key: value for key, value in counted.items() if key not in keys}
    summary = {key: counted[key] for key in keys if key in counted}
    return {"event": "summary", **summary, "seconds": round(seconds, 6), **rest, "surplus": _surplus(counted)}


def _surplus(counted: dict[str, Any]) -> dict[str, int]:
    """The surplus frames of each input; ``unmatched`` includes them."""
    if not counted:
        # The join failed before it counted anything.
        return {}
    rows, absent = counted["rows"], counted["absent"]
    return {name: surplus(causes, is_joined=rows > absent[name]) for name, causes in counted["causes"].items()}
