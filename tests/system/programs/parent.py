# SPDX-License-Identifier: Apache-2.0
"""A process that starts a media driver, says so, and ends when it is told a line, or when it is killed.

With ``fork`` it has a forked child as well, as ``multiprocessing`` makes them, that does nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from framegate.driver.mediadriver import MediaDriver


def main(aeron_dir: str, *options: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not stopped on any path: how the child ends without that is the question.
    driver = MediaDriver(aeron_dir=aeron_dir).start()
    forked = os.fork() if "fork" in options else 0
    if "fork" in options and forked == 0:
        while True:
            signal.pause()
    print(json.dumps({"event": "ready", "media_driver": driver.pid, "forked": forked}), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
