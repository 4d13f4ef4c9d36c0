# SPDX-License-Identifier: Apache-2.0
"""The other process of a measurement. ``drain`` polls all that comes; ``echo`` sends every message back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

from framegate.shmpool.transport.aeron import AeronTransport

from dev.bench.bed import BACK, CHANNEL, THERE, connected
from framegate._native import bench_echo, bench_poll

_ENDLESS = 1 << 62


def main(arguments: Sequence[str]) -> int:
    """Serve until the parent ends this process."""
    role, aeron_dir, *words = arguments
    with AeronTransport(aeron_dir, client_name=role) as client:
        # The native loops take the native objects behind the protocol.
        heard = cast(Any, client.add_subscription(CHANNEL, THERE))
        if role == "drain":
            bench_poll(heard, _ENDLESS, 256)
        else:
            back = cast(Any, connected(client.add_publication(CHANNEL, BACK)))
            bench_echo(heard, back, _ENDLESS, words[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
