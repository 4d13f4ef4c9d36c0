# SPDX-License-Identifier: Apache-2.0
"""``framegate status``: shows what runs with a base directory, including joins that were started by hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from framegate.driver.driver_lock import LockOwner, lock_owner
from framegate.driver.region_folders import RegionFolders
from framegate.joinbarrier.agent.notice import notices
from framegate.joinbarrier.journal.head import Head
from framegate.joinbarrier.journal.journal import Journal
from framegate.joinbarrier.journal.listing import writer_state
from framegate.schema.config.settings import load_client_settings
from framegate.schema.console.quantities import NONE, count, duration
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE, NoPermission
from framegate.shmpool.client.stream_names import StreamNames, stream_called
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.idle import sleep_ns
from framegate.tools.rig.options import PlaceOptions
from framegate.tools.rig.run_folder import RunFolder
from framegate.tools.rig.supervisor import described_exit

_NAMESPACE: Final = "default"
_QUIET_S: Final = 2.0
"""After this long without a row, it is printed in full what a join waits for."""
_SAMPLE_NS: Final = 250_000_000
"""The time over which the rate of a journal is measured if its join writes no notice."""
_GONE: Final = "gone: it ended without a word"
_STYLES: Final = {
    "running": "green", "joining": "green", "failed": "bold red", "gone": "bold red", "full": "yellow",
    "restarts soon": "yellow", "attaching": "yellow",
}  # fmt: skip
_ON: Final = ("starting", "running", "stopping")


def run(options: PlaceOptions, journals: Sequence[Path]) -> int:
    """Print the status. Returns the exit code. Raises JournalMissing for a journal that does not exist."""
    client = load_client_settings(
        os.environ, config=options.config, aeron_dir=options.aeron_dir, base_dir=options.base_dir
    )
    base = Path(os.path.realpath(client.base_dir))
    driver = _driver(base)
    rig = _rig(RunFolder(str(base)))
    joins = [*_joins(base), *_journals(journals, base)]
    if options.json:
        _emit(driver, rig, joins)
        return DONE
    _print_driver(base, driver)
    if rig is not None:
        _print_rig(rig)
    if joins:
        _print_joins(joins)
    if rig is None and not joins:
        print(f"no rig and no join runs with {base}")
    return DONE


# --- looking -------------------------------------------------------------------------------------------------


def _driver(base: Path) -> LockOwner | None:
    try:
        return lock_owner(RegionFolders(base, _NAMESPACE))
    except OSError as refused:
        raise NoPermission(f"it cannot be read: {refused.strerror}", path=refused.filename or base) from None


def _rig(run_folder: RunFolder) -> dict[str, Any] | None:
    state = run_folder.state()
    if state is None:
        return None
    if run_folder.supervisor() is None and state["state"] in _ON:
        state["state"] = "gone"
    return state


def _joins(base: Path) -> Iterator[dict[str, Any]]:
    """The joins that write notices."""
    names = StreamNames(base).by_number()
    for each in notices(str(base)):
        is_living = each.pop("is_living")
        each.pop("format")
        state = each.get("state", "joining") if is_living else "gone"
        yield {**each, "out_name": names.get(each["out_stream"]), "state": state}


def _journals(journals: Iterable[Path], base: Path) -> Iterator[dict[str, Any]]:
    """The journals that were asked for and whose joins write no notice here."""
    known = {each["journal"] for each in _joins(base)}
    found = [Journal(path) for path in journals if str(path.absolute()) not in known]
    before = [(each.next_row, monotonic_ns()) for each in found]
    names = StreamNames(base).by_number()
    if found:
        sleep_ns(_SAMPLE_NS)
    for journal, (rows, at_ns) in zip(found, before, strict=True):
        head = Head.open(journal.path)
        next_row = journal.next_row
        state = writer_state(journal.path)
        yield {
            "state": state if state != "running" else "joining",
            "out_stream": journal.info.out_stream,
            "out_name": names.get(journal.info.out_stream),
            "policy": journal.info.policy,
            "journal": str(journal.path.absolute()),
            "inputs": [{"name": each.name, "stream": each.stream} for each in journal.info.inputs],
            "next_row": next_row,
            "rows": next_row - journal.first_row,
            "rows_per_s": round((next_row - rows) / ((monotonic_ns() - at_ns) / 1e9), 3),
            "is_open": head is not None and not head.is_closed,
        }


# --- saying --------------------------------------------------------------------------------------------------


def _emit(driver: LockOwner | None, rig: dict[str, Any] | None, joins: Iterable[dict[str, Any]]) -> None:
    is_running = driver is not None and driver.is_held
    emit(
        {"event": "driver", "is_running": is_running, "pid": driver.pid if driver is not None and is_running else None}
    )
    if rig is not None:
        emit({"event": "rig", **{key: value for key, value in rig.items() if key != "parts"}})
        for part in rig["parts"]:
            emit({"event": "part", **part})
    for join in joins:
        emit({"event": "join", **join})


def _print_driver(base: Path, driver: LockOwner | None) -> None:
    if driver is None:
        print(f"no driver serves {base}")
    elif driver.is_held:
        print(f"driver: process {driver.pid} serves {base}")
    else:
        print(f"driver: process {driver.pid} served {base}, and ended without a word")


def _print_rig(rig: dict[str, Any]) -> None:
    state = str(rig["state"])
    told = _GONE if state == "gone" else f"{state}, supervised by process {rig['pid']}" if state in _ON else state
    print(f"rig {rig.get('rig')}: {told}\n")
    now_ns = monotonic_ns()
    lines = [_part_line(part, now_ns, is_over=state not in _ON) for part in rig["parts"]]
    print_table(("part", "kind", "state", "for", "restarts", "last exit", "process"), lines, styles=_STYLES)


def _part_line(part: dict[str, Any], now_ns: int, *, is_over: bool) -> list[str]:
    last_exit = part["last_exit"]
    state = "gone" if is_over and part["state"] in _ON else part["state"]
    return [
        part["name"],
        part["kind"],
        state,
        _lasted(now_ns - part["since_ns"]) if part["since_ns"] else NONE,
        count(part["restarts"]),
        NONE if last_exit is None else described_exit(last_exit),
        NONE if part["pid"] is None else str(part["pid"]),
    ]


def _print_joins(joins: Sequence[dict[str, Any]]) -> None:
    print()
    columns = ("join", "state", "rows", "rows/s", "not joined", "checkpoint", "waits for", "journal")
    print_table(columns, [_join_line(each) for each in joins], styles=_STYLES)
    for each in joins:
        for line in _in_full(each):
            print(line)


def _join_line(join: dict[str, Any]) -> list[str]:
    names = "+".join(each["name"] for each in join["inputs"])
    rate, unmatched = join.get("rows_per_s"), join.get("unmatched")
    checkpoint = join.get("checkpoint_id")
    waits = ", ".join(dict.fromkeys(each["name"] for each in join.get("waits_for", ())))
    return [
        f"{names} -> {_out(join)}",
        join["state"],
        count(join.get("rows")),
        NONE if rate is None else f"{rate:,.1f}",
        NONE if unmatched is None else count(sum(unmatched.values())),
        count(checkpoint or None),
        waits or NONE,
        _short(join["journal"]),
    ]


def _out(join: dict[str, Any]) -> str:
    return stream_called(join["out_stream"], join["out_name"])


def _in_full(join: dict[str, Any]) -> Iterator[str]:
    """What a join that stands still waits for."""
    quiet_s = join.get("quiet_s") or 0.0
    if join["state"] == "gone":
        yield f"join -> {_out(join)}: process {join['pid']} is {_GONE}"
    elif quiet_s >= _QUIET_S:
        texts = "; ".join(each["text"] for each in join.get("waits_for", ())) or "frames that make an output"
        yield f"join -> {_out(join)}: no row for {_lasted(int(quiet_s * 1e9))}, waits for {texts}"


def _short(path: str) -> str:
    """The path of a journal relative to this folder, if that is shorter."""
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def _lasted(ns: int) -> str:
    """A duration in words.

    >>> _lasted(1_500_000_000), _lasted(75_000_000_000), _lasted(7_384_000_000_000)
    ('1.5 s', '1 min 15 s', '2 h 3 min')
    """
    seconds = ns // 10**9
    if seconds < 60:
        return duration(max(ns, 0) // 10**8 * 10**8, digits=3)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
