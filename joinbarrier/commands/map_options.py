# SPDX-License-Identifier: Apache-2.0
"""What the command line of ``framegate mergemap`` can say. Nothing is asked of the lease driver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from framegate.shmpool.client.options import ClientOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(ClientOptions):
    """``configs`` are the joins whose maps are served; ``epoch`` None announces each file's own at first."""

    configs: tuple[Path, ...] = ()
    epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions(ClientOptions):
    """Whose map is wanted, and how long it may take; ``epoch`` None takes the one that is announced."""

    out_stream: int
    epoch: int | None = None
    timestamp: bool = False
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(ClientOptions):
    """How long to listen, and to which outputs; None is any."""

    seconds: float = 3.0
    out_stream: int | None = None
    epoch: int | None = None
