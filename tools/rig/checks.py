# SPDX-License-Identifier: Apache-2.0
"""Checks what a rig needs of the machine, before anything is started. Each lack is a numbered error."""

from __future__ import annotations

import difflib
import os
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.driver_lock import lock_owner
from framegate.driver.mediadriver import is_live
from framegate.driver.options import DriverOptions
from framegate.driver.region_folders import RegionFolders
from framegate.joinbarrier.flight.endpoint import Endpoint
from framegate.joinbarrier.spark.registering import check_java, check_pyspark
from framegate.schema.config.settings import default_aeron_dir
from framegate.schema.errors import JournalNotMade, NoPermission, PortTaken, ProgramMissing
from framegate.shmpool.layout.owners import flaw_of_owner
from framegate.tools.rig.load import LoadedRig, journal_of
from framegate.tools.rig.part import Part
from framegate.tools.rig.sections import QueryPart, ServerPart

_JOURNAL: Final = "journal.json"


def aeron_dir_of(rig: LoadedRig, environment: Mapping[str, str]) -> str:
    """The directory of this rig's media driver."""
    return rig.client.aeron_dir or default_aeron_dir(environment)


def driver_config(rig: LoadedRig, environment: Mapping[str, str]) -> DriverConfig:
    """The driver's configuration, even if the rig does not start the driver. Raises ConfigurationError."""
    section = rig.file.driver
    options = DriverOptions(
        config=None if section.config is None else rig.folder / section.config,
        base_dir=rig.client.base_dir,
        aeron_dir=rig.client.aeron_dir,
        slots=section.slots,
        frame_bytes=section.frame_bytes,
    )
    return load_driver_config(options, environment)


def has_driver(rig: LoadedRig, config: DriverConfig, environment: Mapping[str, str]) -> bool:
    """Whether a driver serves the base directory already.

    Raises NoPermission and MediaDriverForeign if the directories belong to another user.
    """
    base = Path(os.path.realpath(rig.client.base_dir))
    if (flaw := flaw_of_owner(base)) is not None:
        raise NoPermission(flaw, hint="Choose a --base-dir of this user, or ask its owner.", path=base)
    is_served = is_live(aeron_dir_of(rig, environment))
    try:
        owner = lock_owner(RegionFolders(base, config.shm.namespace))
    except OSError as refused:
        said = f"the lock of its driver cannot be read: {refused.strerror}"
        raise NoPermission(said, path=refused.filename or base) from None
    return is_served and owner is not None and owner.is_held


def check_machine(rig: LoadedRig, parts: Iterable[Part], environment: Mapping[str, str]) -> None:
    """Check the machine. Raises PySparkMissing, JavaMissing, PortTaken, JournalNotMade and ProgramMissing."""
    for (kind, name), section in rig.file.parts().items():
        where = f"{kind}.{name}"
        if isinstance(section, QueryPart | ServerPart):
            _check_journals(rig, where, section.journals)
        if isinstance(section, QueryPart):
            _check_program(rig.folder / section.program, where)
            if section.spark:
                check_pyspark()
                check_java(environment)
        if isinstance(section, ServerPart):
            _check_port(Endpoint.parse(section.listen), where)
    for part in parts:
        _check_word(part, rig.folder, environment)


def _check_journals(rig: LoadedRig, where: str, journals: Iterable[str]) -> None:
    made = {str(facts.journal): name for name, facts in rig.joins.items()}
    for each in journals:
        path = journal_of(rig, each)
        if str(path) in made:
            # The part would start beside its join, and not after it.
            maker = made[str(path)]
            raise JournalNotMade(
                "a join of this rig makes this journal, and it is named by its folder",
                hint=f'Write joins = ["{maker}"] in [{where}]: then it starts when the join has made the journal.',
                part=where,
                journal=each,
            )
        if not (path / _JOURNAL).exists():
            nearest = next(iter(difflib.get_close_matches(str(path), made, 1, 0.0)), None)
            hint = None if nearest is None else f'Write joins = ["{made[nearest]}"] if {nearest} is meant.'
            raise JournalNotMade(
                "no journal is there, and no join of the rig makes it", hint=hint, part=where, journal=each
            )


def _check_program(path: Path, where: str) -> None:
    if not path.is_file():
        raise ProgramMissing("the program of a query is not there", part=where, path=path)


def _check_word(part: Part, folder: Path, environment: Mapping[str, str]) -> None:
    """Check that the first word of a command is a program."""
    program = part.words[0]
    found = (folder / program).is_file() if "/" in program else shutil.which(program, path=environment.get("PATH"))
    if not found:
        raise ProgramMissing("no such program is found", part=f"{part.kind}.{part.name}", program=program)


def _check_port(endpoint: Endpoint, where: str) -> None:
    """Check that a server could listen there now."""
    try:
        family = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family[0], socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(family[4])
    except OSError as refused:
        said = f"it cannot listen there: {refused.strerror}"
        raise PortTaken(said, part=where, listen=endpoint.location) from None
