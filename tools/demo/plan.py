# SPDX-License-Identifier: Apache-2.0
"""What a demo takes: names, folders and sizes. No processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. ``home`` goes at its end; ``folder`` may be the same or what the user wants to keep."""

    options: DemoOptions
    home: Path
    folder: Path

    @property
    def cameras(self) -> list[str]:
        """Their names; the last one is late."""
        return [f"camera{n + 1}" for n in range(self.options.inputs)]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a picture."""
        return self.options.shape[0], self.options.shape[1]

    @property
    def frames(self) -> int:
        """How many each camera makes."""
        return max(1, round(self.options.seconds * self.options.rate))

    @property
    def aeron_dir(self) -> str:
        """The media driver's directory."""
        return self.options.aeron_dir or str(self.home / "aeron")

    @property
    def base_dir(self) -> str:
        """The directory of the rings."""
        return self.options.base_dir or str(self.home / "pool")

    @property
    def journal(self) -> Path:
        """Where rows go."""
        return self.folder / "journal"

    @property
    def logs(self) -> Path:
        """Where each process says what it says."""
        return self.folder / "logs"

    @property
    def scratch(self) -> Path:
        """Where Spark and others keep what is temporary."""
        return self.home / "scratch"

    def sent(self, camera: str) -> Path:
        """Where a camera writes down what it has published."""
        return self.logs / f"{camera}.csv"

    def camera(self, name: str) -> list[str]:
        """A camera's program. It waits for the join, and for the recorder if there is one."""
        lag, consumers = LAG if name == self.cameras[-1] else 0, 1 if self.options.record is None else 2
        words = {"name": name, "lag": lag, "shape": self.shape, "rate": self.options.rate, "frames": self.frames}
        words |= {"consumers": consumers, "sent": str(self.sent(name))}
        return ["framegate.tools.demo.camera", json.dumps(words)]

    def helpers(self) -> dict[str, list[str]]:
        """What else runs: a server of the journal for a cluster, and a recorder of the cameras, if they are wanted."""
        found = {}
        if self.options.has_cluster:
            server = ["framegate", "journal", "serve", str(self.journal), "--listen", "grpc://127.0.0.1:0"]
            found["server"] = [*server, "--child", "--json"]
        if self.options.record is not None:
            recorder = ["framegate", "record", self.options.record, "--streams", ",".join(self.cameras)]
            found["recorder"] = [*recorder, "--payload"]
        return found

    @property
    def row_bytes(self) -> int:
        """Of one joined set's pictures."""
        return self.shape[0] * self.shape[1] * self.options.inputs

    @property
    def journal_bytes(self) -> int:
        """The most that the journal takes."""
        low, high = _JOURNAL_BYTES
        wanted = int(self.row_bytes * self.options.rate * _JOURNAL_S)
        return max(min(max(wanted, low), high), _ROWS_MIN * self.row_bytes)

    @property
    def memory_bytes(self) -> int:
        """Of shared memory, all in all."""
        stride = stride_of(self.row_bytes // self.options.inputs)
        rings = self.options.inputs * default_slots(stride) * stride
        return rings + _AERON_BYTES + (self.journal_bytes if self.folder == self.home else 0)


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
