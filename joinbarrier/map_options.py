# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate mergemap`` can say, and the client that its commands speak by."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from framegate.shmpool.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOptions:
    """What the three commands share; None is an option that was not given."""

    config: Path | None = None
    aeron_dir: str | None = None
    base_dir: str | None = None
    wait_driver: float | None = None
    json: bool = False

    def connect(self) -> Client:
        """A client of the media driver; the lease driver is not asked for anything."""
        # Imported here: the command line reads these options at every start.
        from framegate.schema.config.settings import default_aeron_dir, load_client_settings
        from framegate.shmpool.client import connect

        settings = load_client_settings(
            os.environ,
            config=self.config,
            aeron_dir=self.aeron_dir,
            base_dir=self.base_dir,
            wait_driver=self.wait_driver,
        )
        aeron_dir = settings.aeron_dir or default_aeron_dir(os.environ)
        return connect(aeron_dir, settings.base_dir, wait_driver_s=settings.wait_driver)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(MapOptions):
    """``configs`` are the joins whose maps are served; ``epoch`` None takes each file's own."""

    configs: tuple[Path, ...] = ()
    epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions(MapOptions):
    """Whose map is wanted, and how long it may take."""

    out_stream: int
    epoch: int = 0
    timestamp: bool = False
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(MapOptions):
    """How long to listen, and to which outputs; None is any."""

    seconds: float = 3.0
    out_stream: int | None = None
    epoch: int | None = None
