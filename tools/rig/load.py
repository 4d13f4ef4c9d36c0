# SPDX-License-Identifier: Apache-2.0
"""Reading a rig file: every mistake is a numbered error with its line and column, also in the joins that it names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.schema.config.loading import load
from framegate.schema.config.settings import ClientSettings, load_client_settings
from framegate.schema.errors import ConflictingKeys
from framegate.tools.rig.sections import JoinPart, RigFile, Stream

_STREAM_OF_WORD: Final = re.compile(r"[^:/~<^]+")
"""``imu~10ms`` is the stream imu by a rule."""


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """What the rest of a rig has to know of a join."""

    reads: frozenset[str]
    publishes: str | None
    journal: Path


@dataclass(frozen=True, slots=True)
class LoadedRig:
    """A rig file with its joins, and where it is meant for."""

    path: Path
    file: RigFile
    client: ClientSettings
    joins: Mapping[str, JoinFacts]

    @property
    def folder(self) -> Path:
        """Where its parts run, and what its paths begin at."""
        return self.path.parent


def load_rig(
    path: Path, environment: Mapping[str, str], *, aeron_dir: str | None = None, base_dir: str | None = None
) -> LoadedRig:
    """Read it and what it names. Raises ConfigurationError."""
    path = path.absolute()
    # Variables such as FRAMEGATE_JOIN_OUTPUTS are meant for the parts, which are given them.
    file = load(RigFile, path, {}, {})
    client = load_client_settings(environment, config=path, aeron_dir=aeron_dir, base_dir=base_dir)
    joins = {name: _facts(each, path.parent) for name, each in file.join.items()}
    _refuse_shared_journals(path, joins)
    return LoadedRig(path, file, client, joins)


def _facts(join: JoinPart, folder: Path) -> JoinFacts:
    if join.words is not None:
        found = (_STREAM_OF_WORD.match(word) for word in join.words.split())
        return JoinFacts(frozenset(each[0] for each in found if each), None, _within(folder, join.out or ""))
    config: JoinConfig = join if join.config is None else load_join_config(folder / join.config, {})
    return JoinFacts(
        frozenset(str(each.stream) for each in config.input),
        str(config.join.out_stream) if config.join.publish else None,
        _within(folder, config.join.journal),
    )


def _within(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path))


def journal_of(rig: LoadedRig, path: str) -> Path:
    """A journal that the file names, from the rig's folder."""
    return _within(rig.folder, path)


def _refuse_shared_journals(path: Path, joins: Mapping[str, JoinFacts]) -> None:
    owners: dict[Path, str] = {}
    for name, each in joins.items():
        if (owner := owners.setdefault(each.journal, name)) != name:
            raise ConflictingKeys(
                "two joins write one journal, which has one writer: give each a folder of its own",
                file=str(path),
                key=f"join.{name}",
                other=f"join.{owner}",
                journal=each.journal,
            )


def name_of(stream: Stream) -> str:
    """A stream as it is compared: by its number or its name."""
    return str(stream)
