# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends every command cleanly, from the first instant on: no traceback, and an exit code that fits."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.outside.bed import Bed
from tests.outside.ctrl_c import COMMANDS, interrupted, prepare

UGLY = ("Traceback", "Exception ignored", "Fatal Python error", "[FG-999")


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """With a recording and a journal to look at."""
    with Bed() as bed:
        bed.driver()
        prepare(bed)
        yield bed


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_at_any_instant_leaves_no_traceback(bed: Bed, command: str) -> None:
    for delay_s, shown in interrupted(bed, command):
        said = f"{command} after {delay_s} s: {shown}"
        assert not [word for word in UGLY if word in shown.text], said
        if shown.code == 1:
            # It had not begun, or can be done again.
            assert "[FG-" in shown.text, said
        else:
            # Done, or ended in good order; or ended by the system before anything of it was there.
            assert shown.code in {0, -signal.SIGINT}, said
