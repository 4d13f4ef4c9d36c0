# SPDX-License-Identifier: Apache-2.0
"""What every command that speaks by a client takes, and that client."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from framegate.schema.config.settings import default_aeron_dir, load_client_settings
from framegate.shmpool.client.client import Client, connect


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """What the command line said; None is what it did not."""

    config: Path | None = None
    aeron_dir: str | None = None
    base_dir: str | None = None
    wait_driver: float | None = None
    json: bool = False

    def connect(self) -> Client:
        """A client as the command line, the environment and the file want it, in this order."""
        settings = load_client_settings(
            os.environ,
            config=self.config,
            aeron_dir=self.aeron_dir,
            base_dir=self.base_dir,
            wait_driver=self.wait_driver,
        )
        aeron_dir = settings.aeron_dir or default_aeron_dir(os.environ)
        return connect(aeron_dir, settings.base_dir, wait_driver_s=settings.wait_driver, config=self.config)
