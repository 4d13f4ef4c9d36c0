# SPDX-License-Identifier: Apache-2.0
"""``framegate demo``: everything at once, watched while it runs, checked when it is over, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from framegate.joinbarrier.spark.registering import check_java, check_pyspark
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, DemoFailed, JavaMissing, NoPermission, NoRoom, PySparkMissing, WrongUsage
from framegate.shmpool.stop_signal import StopSignal
from framegate.tools.demo.cast import Cast
from framegate.tools.demo.cleaner import Cleaner
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import LAG, Plan, check
from framegate.tools.demo.png import png
from framegate.tools.demo.query import READER
from framegate.tools.demo.sheet import sheet
from framegate.tools.demo.show import Show
from framegate.tools.demo.summary import print_summary

_MEMORY: Final = "/dev/shm"  # noqa: S108  (frames belong in memory)
_SHEET: Final = "framegate-demo.png"
_MIB: Final = 1 << 20


def run(options: DemoOptions) -> int:
    """Run the demo; the exit code. Raises DemoFailed, DemoWrong, NoRoom and WrongUsage."""
    check(options)
    kept = _kept(options)
    in_spark = options.has_spark and _has_spark(options)
    with ExitStack() as stack:
        stop = stack.enter_context(StopSignal())
        stop.listen()
        home = Path(tempfile.mkdtemp(prefix="framegate-demo-", dir=_MEMORY if Path(_MEMORY).is_dir() else None))
        plan = Plan(options, home, kept or home)
        cleaner = stack.enter_context(Cleaner(home, plan.aeron_dir, plan.journal, READER))
        _check_room(plan)
        for folder in (plan.logs, home / "tmp", home / "spark"):
            folder.mkdir(parents=True)
        cast = stack.enter_context(closing(Cast(plan.logs, home, stop, cleaner.note)))
        show = Show(plan, cast, stop, in_spark=in_spark)
        try:
            summary = show.run()
        except DemoFailed as failed:
            if kept is not None:
                failed.hint = f"Its logs are in {plan.logs}; with FRAMEGATE_LOG=debug they say more."
            raise
        summary["files"] = _files(plan, show, kept)
    if options.json:
        emit(summary)
    else:
        print_summary(summary)
    return DONE


def _kept(options: DemoOptions) -> Path | None:
    """The folder that stays, which is to hold one run and nothing else; without one the pictures stay here."""
    if options.keep is None:
        if not os.access(Path.cwd(), os.W_OK):
            what = "the demo's pictures have no place here"
            raise NoPermission(what, hint="Start it elsewhere, or name a place with --keep DIR.", path=Path.cwd())
        return None
    folder = Path(options.keep)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WrongUsage("--keep takes a folder that is new or empty", folder=folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _has_spark(options: DemoOptions) -> bool:
    """Whether Spark can run here; says why not."""
    if options.has_cluster:
        # Asked for by name: nothing else would be an answer.
        check_pyspark()
        check_java(os.environ)
        return True
    try:
        check_pyspark()
        check_java(os.environ)
    except (PySparkMissing, JavaMissing) as missing:
        print(f"{missing}\nUntil then the demo computes in Python, as with --no-spark.", file=sys.stderr, flush=True)
        return False
    return True


def _check_room(plan: Plan) -> None:
    free = shutil.disk_usage(plan.home).free
    if free < plan.memory_bytes:
        raise NoRoom(
            "not enough room for the rings and the journal of this demo",
            hint="Enlarge it (in a container: --shm-size=2g), or take smaller pictures: --shape 120x160.",
            folder=plan.home.parent,
            want_mib=plan.memory_bytes // _MIB,
            free_mib=free // _MIB,
        )


def _files(plan: Plan, show: Show, kept: Path | None) -> dict[str, str]:
    """Draw the contact sheet; what stays, by what it is."""
    place = plan.sheet if kept else Path(_SHEET).absolute()
    files = {}
    samples = show.sampler.samples
    if samples:
        moved = [show.verdict.moved(each.row) or (0, 0) for each in samples]
        place.write_bytes(png(sheet(samples, moved, LAG)))
        files["pictures"] = str(place)
    if plan.options.record is not None:
        files["recording"] = plan.options.record
    if kept:
        files |= {"journal": str(plan.journal), "logs": str(plan.logs), "join file": str(plan.join_file)}
    return files
