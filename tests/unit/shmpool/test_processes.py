# SPDX-License-Identifier: Apache-2.0
"""Whether a process is still there: numbers from files that anybody may have written."""

from __future__ import annotations

import os

from framegate.shmpool.processes import process_exists


def test_processes_are_found_and_numbers_that_are_none_are_not() -> None:
    assert process_exists(os.getpid())
    assert process_exists(1)
    assert not any(process_exists(pid) for pid in (0, -1, 2**31, 2**64 - 1))
