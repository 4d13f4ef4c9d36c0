# SPDX-License-Identifier: Apache-2.0
"""What every client needs to find its drivers: directories, log level, how long to wait.

In a file these keys stand in a table ``[client]``, which any framegate configuration file may have. A driver's file
serves its clients too: its ``driver.aeron_dir`` and ``shm.base_dir`` hold where ``[client]`` says nothing.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from framegate.schema.config.loading import Given, load
from framegate.schema.config.types import Directory, EnvironmentName, Section
from pydantic import ConfigDict, Field, model_validator

DEFAULT_BASE_DIR: Final = "/dev/shm/tensorpool"  # noqa: S108  (shared memory is the point)
DEFAULT_WAIT_DRIVER_S: Final = 10.0


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


class ClientSettings(Section):
    """The settings of a client. ``aeron_dir`` None means Aeron's own default."""

    aeron_dir: Annotated[Directory | None, EnvironmentName("AERON_DIR")] = None
    base_dir: Annotated[Directory, EnvironmentName("BASE_DIR")] = DEFAULT_BASE_DIR
    log: Annotated[Literal["error", "warn", "info", "debug"], EnvironmentName("LOG")] = "warn"
    wait_driver: Annotated[float, EnvironmentName("WAIT_DRIVER"), Field(ge=0, le=86_400, allow_inf_nan=False)] = (
        DEFAULT_WAIT_DRIVER_S
    )


class _AnyFile(Section):
    # The other tables belong to other models, which refuse what is wrong in them.
    model_config = ConfigDict(extra="ignore")

    client: ClientSettings = ClientSettings()

    @model_validator(mode="before")
    @classmethod
    def _follow_the_driver(cls, data: Any) -> Any:
        client = data.get("client", {})
        return {**data, "client": {**_directories(data), **client}} if isinstance(client, dict) else data


def _directories(data: dict[str, Any]) -> dict[str, str]:
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
