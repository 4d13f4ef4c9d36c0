# SPDX-License-Identifier: Apache-2.0
"""``framegate demo``: where it runs and what it leaves, around the show."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from framegate.joinbarrier.spark.registering import check_java, check_pyspark
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, DemoFailed, JavaMissing, NoPermission, NoRoom, PySparkMissing, WrongUsage
from framegate.tools.demo.cleaner import cleaned_up
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import Plan, check
from framegate.tools.demo.show import Show
from framegate.tools.demo.shown import print_summary
from framegate.tools.rig.guard import MARK

_MEMORY: Final = "/dev/shm"  # noqa: S108  (frames belong in memory)
_SHEET: Final = "framegate-demo.png"
_KEPT_VARIABLES: Final = ("FRAMEGATE_LOG", "FRAMEGATE_MEDIA_DRIVER")
_MIB: Final = 1 << 20


def run(options: DemoOptions) -> int:
    """Run the demo; the exit code. Raises DemoFailed, DemoWrong, NoRoom and WrongUsage."""
    check(options)
    kept = _kept(options)
    in_spark = options.has_spark and _has_spark(options)
    home = Path(tempfile.mkdtemp(prefix="framegate-demo-", dir=_MEMORY if Path(_MEMORY).is_dir() else None))
    plan, mark = Plan(options, home, kept or home), secrets.token_hex(8)
    with cleaned_up(plan, mark):
        if (free := shutil.disk_usage(home).free) < plan.memory_bytes:
            hint = "Enlarge it (in a container: --shm-size=2g), or take smaller pictures: --shape 120x160."
            sizes = {"want_mib": plan.memory_bytes // _MIB, "free_mib": free // _MIB}
            raise NoRoom("the rings and the journal of this demo take more", hint=hint, folder=home.parent, **sizes)
        for folder in (plan.logs, plan.scratch):
            folder.mkdir(parents=True)
        _set_environment(plan, mark)
        show = Show(plan, in_spark=in_spark)
        try:
            summary = show.run()
        except DemoFailed as failed:
            if kept is not None:
                failed.hint = f"Its logs are in {plan.logs}; with FRAMEGATE_LOG=debug they say more."
            raise
    summary["files"] = _files(plan, show.sheet.png(), kept)
    emit(summary) if options.json else print_summary(summary)
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
    try:
        check_pyspark()
        check_java(os.environ)
    except (PySparkMissing, JavaMissing) as missing:
        if options.has_cluster:
            # Asked for by name: nothing else would be an answer.
            raise
        print(f"{missing}\nUntil then the demo computes in Python, as with --no-spark.", file=sys.stderr, flush=True)
        return False
    return True


def _set_environment(plan: Plan, mark: str) -> None:
    """What this program and those beside it go by. What is configured for others stays out."""
    for name in [each for each in os.environ if each.startswith("FRAMEGATE_") and each not in _KEPT_VARIABLES]:
        del os.environ[name]
    os.environ |= {"FRAMEGATE_AERON_DIR": plan.aeron_dir, "FRAMEGATE_BASE_DIR": plan.base_dir, MARK: mark}
    os.environ |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
    # Linear algebra is small here, and threads of it that spin would take the cores from the others.
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    os.environ["TMPDIR"] = str(plan.scratch)
    kept = logging.FileHandler(plan.logs / "demo.log")
    kept.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("framegate").handlers = [kept]


def _files(plan: Plan, pictures: bytes | None, kept: Path | None) -> dict[str, str]:
    """Write the pictures; what stays, by what it is."""
    files = {}
    if pictures is not None:
        place = kept / "contact-sheet.png" if kept else Path(_SHEET).absolute()
        place.write_bytes(pictures)
        files["pictures"] = str(place)
    if plan.options.record is not None:
        files["recording"] = plan.options.record
    if kept:
        files |= {"journal": str(plan.journal), "logs": str(plan.logs), "join file": str(kept / "join.toml")}
    return files
