# SPDX-License-Identifier: Apache-2.0
"""The options of every command that uses a client, and the client that they make."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from framegate.schema.config.settings import ClientSettings, default_aeron_dir, load_client_settings
from framegate.schema.console.command_options import ClientWords
from framegate.shmpool.client.client import Client, connect
from framegate.shmpool.client.stream_names import StreamNames


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The options of the command line; None for one that was not given."""

    config: Path | None = None
    aeron_dir: str | None = None
    base_dir: str | None = None
    wait_driver: float | None = None
    json: bool = False

    def settings(self) -> ClientSettings:
        """The settings from the command line, the environment and the file, in this order."""
        return load_client_settings(
            os.environ,
            config=self.config,
            aeron_dir=self.aeron_dir,
            base_dir=self.base_dir,
            wait_driver=self.wait_driver,
        )

    def connect(self) -> Client:
        """Make a client with these settings."""
        settings = self.settings()
        aeron_dir = settings.aeron_dir or default_aeron_dir(os.environ)
        return connect(aeron_dir, settings.base_dir, wait_driver_s=settings.wait_driver, config=self.config)


def stream_number(stream: str, client: ClientWords) -> int:
    """The number of a stream that the command line gives by number or name."""
    return named_stream(stream, base_dir=client["base_dir"], config=client["config"])


def named_stream(stream: str, *, base_dir: str | None, config: Path | None) -> int:
    """The number of a stream, by the names in the base directory of a client with these options."""
    return StreamNames(ClientOptions(base_dir=base_dir, config=config).settings().base_dir).id_of(stream)
