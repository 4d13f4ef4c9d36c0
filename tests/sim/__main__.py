# SPDX-License-Identifier: Apache-2.0
"""``make sim``: many seeds, or the one that is named. A failure prints the line that replays it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from tests.sim.world import Broken, CanaryWorld, World

SEEDS: Final = 200


def main(arguments: Sequence[str]) -> int:
    """Run the named seed, or all of them and the canary."""
    seeds = [int(word) for word in arguments] or list(range(1, SEEDS + 1))
    for seed in seeds:
        try:
            World(seed).run()
        except Broken as broken:
            print(f"seed {seed}: {broken}\nreplay: make sim SEED={seed}", file=sys.stderr)
            return 1
    print(f"{len(seeds)} runs held")
    return 0 if arguments else _canary()


def _canary() -> int:
    try:
        CanaryWorld(1).run()
    except Broken as broken:
        print(f"the canary failed as it must: {broken}")
        return 0
    print("the canary did not fail: the checkers check nothing", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
