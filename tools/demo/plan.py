# SPDX-License-Identifier: Apache-2.0
"""What a demo takes: names, folders and sizes. No processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from framegate.driver.frame_fit import default_slots, stride_of
from framegate.schema.errors import WrongUsage
from framegate.shmpool.commands.moving import SIDE_MIN
from framegate.tools.demo.options import DemoOptions

LAG: Final = 2
"""Frames by which the last camera is late: what the offset rule makes up for."""
_INPUTS_MAX: Final = 16
_JOURNAL_S: Final = 8.0
"""The journal has room for so much: the first micro-batches of a query wait for workers that start anew."""
_JOURNAL_BYTES: Final = (64 << 20, 1 << 30)
_ROWS_MIN: Final = 32
_AERON_BYTES: Final = 96 << 20


class Plan:
    """One run. ``home`` goes at its end; ``folder`` may be the same or what the user wants to keep."""

    def __init__(self, options: DemoOptions, home: Path, folder: Path) -> None:
        self.options, self.home, self.folder = options, home, folder
        self.aeron_dir = options.aeron_dir or str(home / "aeron")
        self.base_dir = options.base_dir or str(home / "pool")
        self.journal, self.logs, self.scratch = folder / "journal", folder / "logs", home / "scratch"
        self.cameras = [f"camera{n + 1}" for n in range(options.inputs)]
        self.shape = options.shape[0], options.shape[1]
        self.frames = max(1, round(options.seconds * options.rate))
        picture_bytes = self.shape[0] * self.shape[1]
        self.row_bytes = picture_bytes * options.inputs
        low, high = _JOURNAL_BYTES
        wanted = min(max(int(self.row_bytes * options.rate * _JOURNAL_S), low), high)
        self.journal_bytes = max(wanted, _ROWS_MIN * self.row_bytes)
        rings = options.inputs * default_slots(stride_of(picture_bytes)) * stride_of(picture_bytes)
        self.memory_bytes = rings + _AERON_BYTES + (self.journal_bytes if folder == home else 0)

    def sent(self, camera: str) -> Path:
        """Where a camera writes down what it has published."""
        return self.logs / f"{camera}.csv"

    def camera(self, name: str) -> list[object]:
        """A camera. It waits for the join, for the recorder if there is one, and for the demo, by which all begin."""
        options, lag = self.options, LAG if name == self.cameras[-1] else 0
        words = ["produce", "--stream", name, "--pattern", "moving", "--lag", lag, "--count", self.frames, "--end"]
        words += ["--rate", options.rate, "--shape", "x".join(map(str, self.shape)), "--sent-log", self.sent(name)]
        return [*words, "--wait-consumers", 2 if options.record is None else 3]

    def helpers(self) -> Iterator[tuple[str, list[object]]]:
        """What else runs: a server of the journal for a cluster, and a recorder of the cameras, if they are wanted."""
        if self.options.has_cluster:
            yield "server", ["journal", "serve", self.journal, "--listen", "grpc://127.0.0.1:0"]
        if self.options.record is not None:
            yield "recorder", ["record", self.options.record, "--streams", ",".join(self.cameras), "--payload"]


def check(options: DemoOptions) -> None:
    """Raises WrongUsage for what cannot be shown."""
    if not 2 <= options.inputs <= _INPUTS_MAX:
        raise WrongUsage(f"--inputs takes 2 to {_INPUTS_MAX} cameras, not {options.inputs}")
    if len(options.shape) != 2 or min(options.shape) < SIDE_MIN:
        given = "x".join(map(str, options.shape))
        raise WrongUsage(f"--shape takes rows and columns of a picture, {SIDE_MIN}x{SIDE_MIN} at least, not {given}")
    if options.has_cluster and not options.has_spark:
        raise WrongUsage("--cluster is a way to run Spark, and --no-spark says that there is none")
    if not 0 < options.seconds * options.rate < 1e9:
        raise WrongUsage(f"--seconds {options.seconds:g} at --rate {options.rate:g} is no number of pictures to make")
