# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several folders share; each lives in a module of its own, named here."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from hypothesis import settings

# Import mode "importlib" adds nothing to the path; `python -m pytest` adds the root by itself.
_ROOT = str(Path(__file__).resolve().parents[1])
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

pytest_plugins = ["tests.codec_probe"]

# Hypothesis fails an example that takes more than 200 ms; on a busy machine that is a busy machine, and no finding.
settings.register_profile("framegate", deadline=None)
settings.load_profile("framegate")

# A job in the background of a script ignores Ctrl-C, and so would every program that the tests start.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
