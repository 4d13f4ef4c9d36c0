# SPDX-License-Identifier: Apache-2.0
"""Loads a rig file. Every mistake is a numbered error with its line and column, even in the joins that it names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.config.words import parse_sign
from framegate.schema.config.loading import Given, load
from framegate.schema.config.settings import ClientSettings, load_client_settings
from framegate.schema.config.types import Context
from framegate.schema.errors import ConflictingKeys
from framegate.shmpool.client.stream_names import StreamNames
from framegate.tools.rig.sections import JoinPart, RigFile


@dataclass(frozen=True, slots=True)
class JoinFacts:
    """The facts about a join that the rest of a rig needs."""

    reads: frozenset[int]
    publishes: int | None
    journal: Path


@dataclass(frozen=True, slots=True)
class LoadedRig:
    """A rig file with its joins, and the directories that it is for."""

    path: Path
    file: RigFile
    client: ClientSettings
    joins: Mapping[str, JoinFacts]

    @property
    def folder(self) -> Path:
        """The folder in which its parts run, and to which its paths are relative."""
        return self.path.parent


def load_rig(
    path: Path, environment: Mapping[str, str], *, aeron_dir: str | None = None, base_dir: str | None = None
) -> LoadedRig:
    """Load a rig file and the files that it names. Raises ConfigurationError."""
    path = path.absolute()
    # Variables such as FRAMEGATE_JOIN_OUTPUTS are for the parts, which get them.
    client = load_client_settings(environment, config=path, aeron_dir=aeron_dir, base_dir=base_dir)
    names = StreamNames(client.base_dir)
    file = load(RigFile, path, {}, {}, context=Context(names.id_of))
    joins = {name: _facts(each, path.parent, names) for name, each in file.join.items()}
    _refuse_shared_journals(path, joins)
    return LoadedRig(path, file, client, joins)


def _facts(join: JoinPart, folder: Path, names: StreamNames) -> JoinFacts:
    if join.words is not None:
        reads = frozenset(names.id_of(parse_sign(word)[0]) for word in join.words.split())
        return JoinFacts(reads, None, _within(folder, join.out or ""))
    config: JoinConfig = join
    if join.config is not None:
        place = {"client.base_dir": Given(str(names.base), "base_dir")}
        config = load_join_config(folder / join.config, {}, place)
    return JoinFacts(
        frozenset(each.stream for each in config.input),
        config.join.out_stream if config.join.publish else None,
        _within(folder, config.join.journal),
    )


def _within(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / path))


def journal_of(rig: LoadedRig, path: str) -> Path:
    """The path of a journal in the rig file, relative to the rig's folder."""
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
