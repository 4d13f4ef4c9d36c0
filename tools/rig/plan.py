# SPDX-License-Identifier: Apache-2.0
"""The plan of a rig: its parts with their command lines, and which part waits for which. It starts no processes.

Readers start before what they read, so that no frame is lost. Joins, recorders and consumers are ready before the
sources of their streams begin, and a join that publishes starts after those that read its rows. A part that reads a
journal starts after the join that writes it. Parts that wait for the end of others belong to a later phase, and sources
of an earlier phase do not wait for them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from framegate.joinbarrier.config.toml_text import toml_text
from framegate.tools.rig.load import LoadedRig, journal_of
from framegate.tools.rig.order import in_order, phases
from framegate.tools.rig.part import Part, Rule
from framegate.tools.rig.sections import (
    DRIVER,
    CommandPart,
    ConsumerPart,
    DriverPart,
    JoinPart,
    PartSection,
    QueryPart,
    RecorderPart,
    ReplayPart,
    ServerPart,
    SourcePart,
    Words,
)

_FRAMEGATE: Final = (sys.executable, "-m", "framegate")
_TABLES: Final = {"join", "journal", "mergemap", "checkpoint", "input", "client"}
"""The names of the tables of a join.toml."""


class Plan:
    """The parts of a rig in the order of their start. The files of its joins are written into ``run_folder``."""

    def __init__(self, rig: LoadedRig, run_folder: Path, *, has_driver: bool = False) -> None:
        self._rig, self._run_folder = rig, run_folder
        self._sections = rig.file.parts()
        self._phases = phases(
            *({name: getattr(each, key) for (_, name), each in self._sections.items()} for key in _KEYS)
        )
        found = [self._part(kind, name, section) for (kind, name), section in self._sections.items()]
        if not has_driver:
            found = [self._driver(rig.file.driver), *(replace(each, after=each.after | {DRIVER}) for each in found)]
        else:
            found = [replace(each, after=each.after - {DRIVER}) for each in found]
        self.parts = in_order(found)

    def join_files(self) -> dict[Path, str]:
        """The files of the joins whose tables are in the rig file."""
        inline = {name: each for name, each in self._rig.file.join.items() if each.is_inline}
        return {self._join_file(name): _join_toml(each) for name, each in inline.items()}

    # --- one part --------------------------------------------------------------------------------------------

    def _part(self, kind: str, name: str, section: PartSection) -> Part:
        match section:
            case SourcePart(command=None):
                made = replace(self._own(kind, section, _produce(section)), file=section.sent_log)
                made = self._behind_readers(made, name, {section.stream or 0}, section.wait_consumers)
            case SourcePart():
                made = self._foreign(kind, _shell_words(section.command or ""), section.ready)
                made = self._behind_readers(made, name, set(section.streams), 0)
            case ReplayPart():
                made = self._own(kind, section, _replay(section))
                streams = {*section.streams, *section.map.values()}
                made = self._behind_readers(made, name, streams, section.wait_consumers)
            case JoinPart():
                made = self._behind_readers(
                    self._own(kind, section, self._join(name, section)), name, self._published(name), 0
                )
            case RecorderPart():
                made = replace(self._own(kind, section, _record(section)), file=section.file)
            case ConsumerPart():
                # Its JSON objects are one for each frame. As text it prints only how many there were.
                made = replace(self._own(kind, section, _consume(section), as_json=False), says_ready=False)
            case ServerPart():
                made = replace(self._own(kind, section, self._serve(section)), is_service=True)
            case QueryPart():
                words = (sys.executable, str(self._rig.folder / section.program), *section.arguments)
                made = self._foreign(kind, words, section.ready)
                made = replace(made, environment={"PYSPARK_PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"})
            case CommandPart():
                made = self._foreign(kind, _shell_words(section.command), section.ready)
                made = replace(made, is_service=section.service)
            case _:
                raise AssertionError(kind)
        joins = getattr(section, "joins", ())
        return replace(
            made,
            name=name,
            words=(*made.words, *(() if made.is_own else section.options)),
            after=made.after | {*section.after, *joins},
            after_end=frozenset(section.after_end),
            rule=_rule(section),
            ready_ns=int(section.ready_s * 1e9),
            environment={**made.environment, **section.environment},
        )

    def _driver(self, section: DriverPart) -> Part:
        words = _options(section, config="--config", slots="--slots", frame_bytes="--frame-bytes")
        made = self._own(DRIVER, section, ("driver", *words))
        return replace(
            made,
            name=DRIVER,
            is_service=True,
            rule=_rule(section),
            ready_ns=int(section.ready_s * 1e9),
            environment=dict(section.environment),
        )

    def _own(self, kind: str, section: PartSection, words: Iterable[str], *, as_json: bool = True) -> Part:
        """A command of framegate. It finds the driver by its environment."""
        told = ("--json",) if as_json else ()
        return Part(name="", kind=kind, words=(*_FRAMEGATE, *words, *section.options, *told))

    def _foreign(self, kind: str, words: Iterable[str], ready_text: str | None) -> Part:
        return Part(
            name="",
            kind=kind,
            words=tuple(words),
            is_own=False,
            says_ready=ready_text is not None,
            ready_text=ready_text,
        )

    def _behind_readers(self, made: Part, name: str, streams: set[int], wait_consumers: int | None) -> Part:
        """Let a part that publishes wait for the parts that read it; without known streams, for all readers."""
        publishes_any = not streams and made.kind != "join"
        readers = {
            reader
            for reader, reads in self._reads().items()
            if reader != name and (publishes_any or reads & streams) and self._phases[reader] == self._phases[name]
        }
        counted = tuple(sorted(readers)) if wait_consumers is None and streams else None
        return replace(made, after=frozenset(readers), readers=counted)

    def _reads(self) -> dict[str, frozenset[int]]:
        """The streams that each reader reads."""
        file = self._rig.file
        found = {name: each.reads for name, each in self._rig.joins.items()}
        found |= {name: frozenset(each.streams) for name, each in file.recorder.items()}
        return found | {name: frozenset({each.stream}) for name, each in file.consumer.items()}

    def _published(self, name: str) -> set[int]:
        published = self._rig.joins[name].publishes
        return set() if published is None else {published}

    # --- command lines ---------------------------------------------------------------------------------------

    def _join_file(self, name: str) -> Path:
        return self._run_folder / f"{name}.toml"

    def _join(self, name: str, section: JoinPart) -> list[str]:
        outputs = _options(section, outputs="--outputs")
        if section.words is not None:
            return ["join", *section.words.split(), "--out", section.out or "", *outputs]
        config = self._join_file(name) if section.config is None else self._rig.folder / section.config
        return ["join", "--config", str(config), *outputs]

    def _serve(self, section: ServerPart) -> list[str]:
        served = [self._rig.joins[name].journal for name in section.joins]
        served += [journal_of(self._rig, each) for each in section.journals]
        return ["journal", "serve", *map(str, served), "--listen", section.listen]


_KEYS: Final = ("after", "after_end")


def _rule(section: PartSection) -> Rule:
    return Rule(
        restart=section.restart,
        restarts_max=section.restarts_max,
        restarts_within_ns=int(section.restarts_within_s * 1e9),
    )


def _shell_words(command: Words) -> tuple[str, ...]:
    """A list as it is, and a text by a shell. Signals go to whole sessions, so the shell does not hold them back."""
    return tuple(command) if isinstance(command, list) else ("/bin/sh", "-c", command)


def _options(section: PartSection, **names: str) -> list[str]:
    """The options whose keys are given. True is an option without a value; False is no option."""
    words = list[str]()
    for key, option in names.items():
        value: Any = getattr(section, key)
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def _produce(section: SourcePart) -> list[str]:
    same = ("stream", "rate", "count", "shape", "dtype", "pattern", "lag", "schedule", "clock", "pipeline", "end")
    options = {key: f"--{key}" for key in same}
    longer = {key: f"--{key.replace('_', '-')}" for key in ("max_rate", "sent_log", "wait_consumers")}
    return ["produce", *_options(section, **options, **longer)]


def _replay(section: ReplayPart) -> list[str]:
    maps = [word for topic, stream in section.map.items() for word in ("--map", f"{topic}={stream}")]
    speed = section.speed if isinstance(section.speed, str) else f"{section.speed:g}"
    options = _options(section, time="--time", loop="--loop", wait_consumers="--wait-consumers", end="--end")
    return ["replay", section.recording, *maps, "--speed", speed, *options]


def _record(section: RecorderPart) -> list[str]:
    streams = ",".join(map(str, section.streams))
    same = ("payload", "control", "seconds", "frames", "compression")
    return ["record", section.file, "--streams", streams, *_options(section, **{key: f"--{key}" for key in same})]


def _consume(section: ConsumerPart) -> list[str]:
    return ["consume", *_options(section, stream="--stream", count="--count", verify="--verify")]


def _join_toml(join: JoinPart) -> str:
    """The tables of a join in the rig file as text, and nothing else."""
    return toml_text(join.model_dump(mode="json", include=_TABLES, exclude_unset=True))
