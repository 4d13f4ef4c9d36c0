# SPDX-License-Identifier: Apache-2.0
"""The tables of a rig file: one for each part, by kind and name, with keys, types, ranges and defaults."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, Self, TypeAlias

from framegate.joinbarrier.config.configuration import JoinConfig
from framegate.joinbarrier.config.rules import conflicts
from framegate.joinbarrier.config.sections import INPUTS_MAX, InputSection
from framegate.schema.config.settings import ClientSettings
from framegate.schema.config.types import Conflict, Section, StreamId, refuse, wanted
from framegate.tools.rig.part import SUPERVISOR
from pydantic import AfterValidator, Field, model_validator

DRIVER: Final = "driver"
"""The name of the only part that every rig has."""


def _part_name(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", text) or text in (DRIVER, SUPERVISOR):
        taken = f"neither {DRIVER!r} nor {SUPERVISOR!r}"
        raise wanted(f"a name of small letters, digits, _ and - that begins with a letter, 32 at most, {taken}")
    return text


PartName: TypeAlias = Annotated[str, AfterValidator(_part_name)]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=4096)]
Words: TypeAlias = Text | Annotated[list[Text], Field(min_length=1, max_length=1024)]
Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


class RigSection(Section):
    """``[rig]``: the settings of the rig as a whole.

    ``grace_s`` is how long a part may take to end before it gets a stronger signal. ``on_failed`` says what a part that
    failed for good does to the others; without its driver a rig always ends. ``log_bytes`` bounds the log of each part:
    at least the newer half of it is kept.
    """

    grace_s: Seconds = 10.0
    on_failed: Literal["stop", "go_on"] = "stop"
    log_bytes: Annotated[int, Field(ge=1 << 16, le=1 << 30)] = 2 << 20


class PartSection(Section):
    """The keys of every part: what it waits for, and when it is started again.

    It starts when the parts of ``after`` are ready and those of ``after_end`` have ended well, in addition to what the
    rig finds out by itself. It is killed if it is not ready after ``ready_s``, and restarted at most ``restarts_max``
    times within ``restarts_within_s``. ``options`` are further words of its command line.
    """

    after: list[str] = Field(default_factory=list)
    after_end: list[str] = Field(default_factory=list)
    restart: Literal["never", "on-failure", "always"] = "on-failure"
    restarts_max: Count = 5
    restarts_within_s: Seconds = 60.0
    ready_s: Seconds = 60.0
    environment: dict[str, str] = Field(default_factory=dict)
    options: list[str] = Field(default_factory=list)


class DriverPart(PartSection):
    """``[driver]``: the options of ``framegate driver``. One that serves the base directory is used instead."""

    config: Text | None = None
    slots: Count | None = None
    frame_bytes: Count | None = None


class CommandPart(PartSection):
    """``[command.NAME]``: any program, as a list of words, or as text for a shell.

    It is ready when it prints ``ready``, or at once. A ``service`` never ends by itself, so the rig ends without it.
    """

    command: Words
    ready: Text | None = None
    service: bool = False


class SourcePart(PartSection):
    """``[source.NAME]``: synthetic frames as of ``framegate produce``, or a ``command`` that publishes ``streams``.

    If ``wait_consumers`` is left out, it is the number of the rig's joins, recorders and consumers that read the
    stream. Each start writes its own ``sent_log``, under a free name.
    """

    stream: StreamId | None = None
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_rate: bool = False
    count: Count | None = None
    shape: Text | None = None
    dtype: Text | None = None
    pattern: Text | None = None
    lag: Count | None = None
    schedule: Text | None = None
    sent_log: Text | None = None
    clock: Text | None = None
    pipeline: Text | None = None
    wait_consumers: Count | None = None
    end: bool = True
    command: Words | None = None
    streams: list[StreamId] = Field(default_factory=list)
    ready: Text | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        found = []
        if (self.stream is None) == (self.command is None):
            said = "a source is a stream of synthetic frames, or a command: give one of the two keys"
            found.append(Conflict(("stream",), ("command",), said))
        ways = sum((self.rate is not None, self.max_rate, self.schedule is not None))
        if self.stream is not None and ways != 1:
            said = "one of rate, max_rate and schedule says when synthetic frames are published"
            found.append(Conflict(("stream",), ("rate",), said))
        refuse(found)
        return self


class ReplayPart(PartSection):
    """``[replay.NAME]``: a recording to publish again, as of ``framegate replay``. ``map`` gives streams to topics."""

    recording: Text
    streams: list[StreamId] = Field(default_factory=list)
    map: dict[str, StreamId] = Field(default_factory=dict)
    time: Literal["log", "header"] | None = None
    speed: Annotated[float, Field(gt=0)] | Literal["max"] = 1.0
    loop: Count | None = None
    wait_consumers: Count | None = None
    end: bool = True


class JoinPart(PartSection, JoinConfig):
    """``[join.NAME]``: a ``config`` file, or the tables of one below this table, or ``words`` with a folder ``out``."""

    input: Annotated[list[InputSection], Field(max_length=INPUTS_MAX)] = Field(default_factory=list)
    config: Text | None = None
    words: Text | None = None
    out: Text | None = None
    outputs: Count | None = None

    @property
    def is_inline(self) -> bool:
        """Whether the tables of a join.toml are in the rig file."""
        return self.config is None and self.words is None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        found = []
        ways = {"input": bool(self.input), "config": self.config is not None, "words": self.words is not None}
        given = [(name,) for name, is_given in ways.items() if is_given]
        if len(given) != 1:
            said = "a join is a config file, words, or the tables of a join.toml below it: give one of the three"
            found.append(Conflict(given[0] if given else (), given[1] if given else ("config",), said))
        elif self.input:
            found += conflicts(self)
        if (self.words is None) != (self.out is None):
            found.append(Conflict(("words",), ("out",), "a join by words has the folder of its journal in out"))
        refuse(found)
        return self


class RecorderPart(PartSection):
    """``[recorder.NAME]``: as of ``framegate record``. An existing file is never changed: another name is used."""

    file: Text
    streams: Annotated[list[StreamId], Field(min_length=1)]
    payload: bool = False
    control: bool = False
    seconds: Seconds | None = None
    frames: Count | None = None
    compression: Text | None = None


class ConsumerPart(PartSection):
    """``[consumer.NAME]``: counts the frames of a stream, and checks them, as of ``framegate consume``."""

    stream: StreamId
    count: Count | None = None
    verify: bool = False


class ServerPart(PartSection):
    """``[server.NAME]``: serves journals to other hosts, as of ``framegate journal serve``.

    The journals are those of ``joins`` of the rig, and further ``journals`` by their folders.
    """

    joins: list[str] = Field(default_factory=list)
    journals: list[Text] = Field(default_factory=list)
    listen: Text = "grpc://127.0.0.1:0"

    @model_validator(mode="after")
    def _has_journals(self) -> Self:
        if not self.joins and not self.journals:
            refuse(
                [
                    Conflict(
                        ("joins",), ("journals",), "a server has journals to serve: name joins of the rig, or folders"
                    )
                ]
            )
        return self


class QueryPart(PartSection):
    """``[query.NAME]``: a Python ``program``, run by the Python of framegate.

    It reads journals of ``joins`` of the rig, and further ``journals``. A program without Spark sets ``spark = false``.
    """

    program: Text
    arguments: list[str] = Field(default_factory=list)
    joins: list[str] = Field(default_factory=list)
    journals: list[Text] = Field(default_factory=list)
    spark: bool = True
    ready: Text | None = None
    ready_s: Seconds = 300.0


class RigFile(Section):
    """A complete, checked rig file."""

    rig: RigSection = RigSection()
    client: ClientSettings = Field(default_factory=ClientSettings)
    driver: DriverPart = DriverPart()
    source: dict[PartName, SourcePart] = Field(default_factory=dict)
    replay: dict[PartName, ReplayPart] = Field(default_factory=dict)
    join: dict[PartName, JoinPart] = Field(default_factory=dict)
    recorder: dict[PartName, RecorderPart] = Field(default_factory=dict)
    consumer: dict[PartName, ConsumerPart] = Field(default_factory=dict)
    server: dict[PartName, ServerPart] = Field(default_factory=dict)
    query: dict[PartName, QueryPart] = Field(default_factory=dict)
    command: dict[PartName, CommandPart] = Field(default_factory=dict)

    def parts(self) -> dict[tuple[str, str], PartSection]:
        """All parts but the driver, by kind and name."""
        kinds = ("join", "recorder", "consumer", "server", "query", "command", "source", "replay")
        return {(kind, name): part for kind in kinds for name, part in getattr(self, kind).items()}

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        # Imported here, because it needs the kinds of parts above.
        from framegate.tools.rig.names import wrong_names

        refuse(list(wrong_names(self)))
        return self
