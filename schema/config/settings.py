# SPDX-License-Identifier: Apache-2.0
"""What every client needs to find its drivers: directories, log level, how long to wait and to believe.

In a file these keys stand in a table ``[client]``, which any framegate configuration file may have. A driver's file
serves its clients too: its ``driver.aeron_dir``, ``shm.base_dir``, ``policies.announce_period_ms`` and each stream's
``descriptor_stream`` hold where ``[client]`` says nothing.
"""

from __future__ import annotations

import getpass
import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from framegate.schema.config.loading import Given, load
from framegate.schema.config.types import DescriptorStreams, Directory, EnvironmentName, PositiveU32, Section
from pydantic import ConfigDict, Field, model_validator

DEFAULT_WAIT_DRIVER_S: Final = 10.0
DEFAULT_ANNOUNCE_PERIOD_MS: Final = 1000


def default_aeron_dir(environment: Mapping[str, str]) -> str:
    """Where the Aeron client looks when it is told nothing."""
    if directory := environment.get("AERON_DIR"):
        return directory
    return f"/dev/shm/aeron-{environment.get('USER') or _account()}"  # noqa: S108


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user id without an account: Aeron says "default" then.
        return "default"


def account() -> str:
    """The effective user, by name where it has one."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def clean_user(name: str) -> str:
    """A user's name as part of a path: it cannot climb out of the base directory.

    >>> clean_user("../a.b-c_1")
    '___a_b-c_1'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def default_base_dir() -> str:
    """Where regions lie when nothing else is said. One for each user: nobody's driver keeps others from theirs."""
    return f"/dev/shm/tensorpool-{clean_user(account())}"  # noqa: S108  (shared memory is the point)


class ClientSettings(Section):
    """The settings of a client. ``aeron_dir`` None means Aeron's own default.

    - ``descriptor_streams`` says which streams have their descriptors on an Aeron stream of their own, and on which:
      ``{ 10001 = 1101 }``, or ``10001=1101,10002=1102`` in a variable. Producers and consumers must agree.
    - ``announce_period_ms`` is the driver's. Announces are believed for ``freshness_ms``, by default three periods; an
      owner counts as dead after ``silence_ms``, by default five. A driver that announces every three seconds or more
      often needs none of them.
    """

    aeron_dir: Annotated[Directory | None, EnvironmentName("AERON_DIR")] = None
    base_dir: Annotated[Directory, EnvironmentName("BASE_DIR")] = Field(default_factory=default_base_dir)
    log: Annotated[Literal["error", "warn", "info", "debug"], EnvironmentName("LOG")] = "warn"
    wait_driver: Annotated[float, EnvironmentName("WAIT_DRIVER"), Field(ge=0, le=86_400, allow_inf_nan=False)] = (
        DEFAULT_WAIT_DRIVER_S
    )
    descriptor_streams: Annotated[DescriptorStreams, EnvironmentName("DESCRIPTOR_STREAMS")] = Field(
        default_factory=dict
    )
    announce_period_ms: PositiveU32 = DEFAULT_ANNOUNCE_PERIOD_MS
    freshness_ms: PositiveU32 = Field(default_factory=lambda data: 3 * data["announce_period_ms"])
    silence_ms: PositiveU32 = Field(default_factory=lambda data: 5 * data["announce_period_ms"])


class _AnyFile(Section):
    # The other tables belong to other models, which refuse what is wrong in them.
    model_config = ConfigDict(extra="ignore")

    client: ClientSettings = ClientSettings()

    @model_validator(mode="before")
    @classmethod
    def _follow_the_driver(cls, data: Any) -> Any:
        client = data.get("client", {})
        if not isinstance(client, dict):
            return data
        driver = {**_directories(data), **_period(data)}
        streams, own = _descriptor_streams(data), client.get("descriptor_streams", {})
        if streams and isinstance(own, dict):
            client = {**client, "descriptor_streams": {**streams, **own}}
        return {**data, "client": {**driver, **client}}


def _period(data: dict[str, Any]) -> dict[str, int]:
    # What is wrong in the driver's tables is the driver's to refuse; nobody believes for less than the default.
    policies = data.get("policies")
    period = policies.get("announce_period_ms") if isinstance(policies, dict) else None
    return {"announce_period_ms": period} if isinstance(period, int) and period > DEFAULT_ANNOUNCE_PERIOD_MS else {}


def _descriptor_streams(data: dict[str, Any]) -> dict[str, int]:
    """By stream id, as text: as a TOML table has its keys."""
    tables = data.get("streams")
    streams = [each for each in tables.values() if isinstance(each, dict)] if isinstance(tables, dict) else []
    found = {str(each.get("stream_id")): each.get("descriptor_stream") for each in streams}
    return {stream: own for stream, own in found.items() if stream.isdecimal() and isinstance(own, int)}


def _directories(data: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for table, key in (("driver", "aeron_dir"), ("shm", "base_dir")):
        values = data.get(table)
        if isinstance(values, dict) and isinstance(values.get(key), str):
            found[key] = values[key]
    return found


def config_path(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The configuration file: the one given, else FRAMEGATE_CONFIG, else none."""
    if given is not None:
        return given
    variable = environment.get("FRAMEGATE_CONFIG")
    return Path(variable) if variable else None


def load_client_settings(
    environment: Mapping[str, str],
    *,
    config: Path | None = None,
    aeron_dir: str | None = None,
    base_dir: str | None = None,
    wait_driver: float | None = None,
) -> ClientSettings:
    """Load the client settings; arguments are what the command line gave, None what it did not."""
    overrides = {
        "client.aeron_dir": option(aeron_dir, "--aeron-dir"),
        "client.base_dir": option(base_dir, "--base-dir"),
        "client.wait_driver": option(wait_driver, "--wait-driver"),
    }
    return load(_AnyFile, config_path(config, environment), environment, overrides).client


def option(value: object, name: str) -> Given | None:
    """An override from the command line, or None where the option was left out."""
    return None if value is None else Given(value, name)
