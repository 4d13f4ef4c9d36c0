# SPDX-License-Identifier: Apache-2.0
"""What the demo starts: each command line, the join's configuration, the sizes of rings and journal. No processes."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.schema.errors import WrongUsage
from framegate.shmpool.commands.moving import SIDE_MIN
from framegate.tools.demo.options import DemoOptions

LAG: Final = 2
"""Frames by which the last camera is late: what the offset rule makes up for."""
OUT_STREAM: Final = 20_001
_FIRST_STREAM: Final = 10_001
_INPUTS_MAX: Final = 16
_RING_S: Final = 0.5
"""Rings hold so much: the cameras do not begin in the same moment, and two of them wait for the late one."""
_SLOTS_MIN: Final = 64
_JOURNAL_S: Final = 8.0
"""The journal has room for so much: the first micro-batches of a query wait for workers that start anew."""
_JOURNAL_BYTES: Final = (64 << 20, 1 << 30)
_SEGMENTS: Final = 8
_PAGE_BYTES: Final = 4096
"""A segment is mapped: it is made of whole pages."""
_AERON_BYTES: Final = 96 << 20
_SMALL_POOL_BYTES: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Camera:
    """One synthetic camera, which is an input of the join and a column of its rows."""

    name: str
    stream: int
    lag: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole demo. ``home`` goes at its end; ``kept`` may be the same or what the user wants to keep."""

    options: DemoOptions
    home: Path
    kept: Path

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """All of them; the last one lags."""
        count = self.options.inputs
        return tuple(
            Camera(f"camera{index + 1}", _FIRST_STREAM + index, LAG if index == count - 1 else 0)
            for index in range(count)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a picture."""
        rows, columns = self.options.shape
        return rows, columns

    @property
    def frames(self) -> int:
        """What each camera makes."""
        return max(1, round(self.options.seconds * self.options.rate))

    @property
    def aeron_dir(self) -> str:
        """The media driver's."""
        return self.options.aeron_dir or str(self.home / "aeron")

    @property
    def base_dir(self) -> str:
        """The regions'."""
        return self.options.base_dir or str(self.home / "pool")

    @property
    def journal(self) -> Path:
        """Where rows go."""
        return self.kept / "journal"

    @property
    def logs(self) -> Path:
        """Where each process says what it says."""
        return self.kept / "logs"

    @property
    def join_file(self) -> Path:
        """The join's configuration."""
        return self.kept / "join.toml"

    @property
    def sheet(self) -> Path:
        """The contact sheet."""
        return self.kept / "contact-sheet.png"

    # --- sizes ---------------------------------------------------------------------------------------------

    @property
    def frame_bytes(self) -> int:
        """Of one picture."""
        return self.shape[0] * self.shape[1]

    @property
    def row_bytes(self) -> int:
        """Of one joined set's pictures."""
        return self.frame_bytes * len(self.cameras)

    @property
    def slots(self) -> int:
        """Of each ring: a power of two."""
        return 1 << (max(_SLOTS_MIN, round(self.options.rate * _RING_S)) - 1).bit_length()

    @property
    def segment_bytes(self) -> int:
        """Of each file of the journal: several rows at least."""
        low, high = _JOURNAL_BYTES
        wanted = int(self.row_bytes * self.options.rate * _JOURNAL_S)
        size = max(min(max(wanted, low), high) // _SEGMENTS, 4 * self.row_bytes + (1 << 20))
        return -(-size // _PAGE_BYTES) * _PAGE_BYTES

    @property
    def journal_bytes(self) -> int:
        """Of all of them."""
        return self.segment_bytes * _SEGMENTS

    @property
    def ring_bytes(self) -> int:
        """Of all rings: a pool for these pictures, and the one for small frames that every stream has."""
        stride = 1 << (self.frame_bytes - 1).bit_length()
        return len(self.cameras) * self.slots * (stride + _SMALL_POOL_BYTES)

    @property
    def memory_bytes(self) -> int:
        """Of shared memory, all in all."""
        kept_elsewhere = 0 if self.kept == self.home else self.journal_bytes
        return self.ring_bytes + self.journal_bytes + _AERON_BYTES - kept_elsewhere

    # --- processes -----------------------------------------------------------------------------------------

    @property
    def places(self) -> list[str]:
        """How a command finds the two drivers."""
        return ["--aeron-dir", self.aeron_dir, "--base-dir", self.base_dir]

    def driver(self) -> list[str]:
        """The lease driver, with the media driver in its hand."""
        sizes = ["--slots", str(self.slots), "--frame-bytes", str(self.frame_bytes)]
        return _framegate("driver", *self.places, *sizes)

    def authority(self) -> list[str]:
        """Who answers the join's request for its map."""
        return _framegate("mergemap", "serve", "--config", str(self.join_file), *self.places)

    def join(self) -> list[str]:
        """The join agent."""
        return _framegate("join", "--config", str(self.join_file), *self.places)

    def server(self) -> list[str]:
        """Who gives the journal to the executors of a cluster. It outlives the join: they read what is left then."""
        return _framegate("journal", "serve", str(self.journal), "--listen", "grpc://127.0.0.1:0")

    def camera(self, camera: Camera) -> list[str]:
        """A camera that begins when the join and the demo's table listen, and the recorder if there is one."""
        picture = ["--pattern", "moving", "--lag", str(camera.lag), "--shape", "x".join(map(str, self.shape))]
        pace = ["--rate", str(self.options.rate), "--count", str(self.frames), "--end"]
        pace += ["--wait-consumers", str(self.listeners)]
        return _framegate("produce", "--stream", str(camera.stream), *picture, *pace, *self.places)

    @property
    def listeners(self) -> int:
        """Consumers of each camera: one that began without all of them would lose frames to some."""
        return 2 if self.options.record is None else 3

    def recorder(self, file: str) -> list[str]:
        """What records the cameras."""
        streams = ",".join(str(camera.stream) for camera in self.cameras)
        return _framegate("record", file, "--streams", streams, "--payload", *self.places)

    def query(self, *, in_spark: bool, endpoint: str | None = None) -> list[str]:
        """What looks at every row; ``endpoint``: on a cluster, from this server."""
        names = ",".join(camera.name for camera in self.cameras)
        words = ["--journal", str(self.journal), "--cameras", names, "--shape", "x".join(map(str, self.shape))]
        words += ["--spark-home", str(self.home / "spark")] if in_spark else []
        words += ["--endpoint", endpoint] if endpoint is not None else []
        return [sys.executable, "-m", "framegate.tools.demo.query", *words]

    def join_toml(self) -> str:
        """The join: by sequence, and the late camera's frame ``n + LAG`` belongs to row ``n``."""
        return _JOIN.format(
            out_stream=OUT_STREAM,
            journal=json.dumps(str(self.journal)),
            max_bytes=self.journal_bytes,
            segment_bytes=self.segment_bytes,
            seal_bytes=max(self.segment_bytes // 4, self.row_bytes + (1 << 16)),
        ) + "".join(_INPUT.format(name=each.name, stream=each.stream, offset=each.lag) for each in self.cameras)


_JOIN: Final = """\
# SPDX-License-Identifier: Apache-2.0
# framegate demo: cameras of one rate, the last of which shows everything some frames later than the others.

[join]
out_stream = {out_stream}
policy = "sequence"
journal = {journal}

[journal]
max_bytes = {max_bytes}
segment_bytes = {segment_bytes}
seal_bytes = {seal_bytes}
when_full = "block"             # no row goes before the query has looked at it

[mergemap]
serve = false                   # the map comes from `framegate mergemap serve`, over the control stream
epoch = 1
"""
_INPUT: Final = """
[[input]]
name = "{name}"
stream = {stream}
offset = {offset}
"""


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


def _framegate(*words: str) -> list[str]:
    return [sys.executable, "-m", "framegate", *words, "--json"]
