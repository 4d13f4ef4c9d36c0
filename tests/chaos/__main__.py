# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.chaos [SECONDS] [SEED]``: ten minutes of it, unless another time is given."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tests.chaos.world import STREAMS, World


def main(arguments: Sequence[str]) -> int:
    """Run and print what was seen."""
    seconds = float(arguments[0]) if arguments else 600.0
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    seen = World(seed).run(seconds)
    print(f"{len(STREAMS)} default streams use {seen['shm_bytes'] / (1 << 20):.0f} MiB of shared memory")
    print(json.dumps(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
