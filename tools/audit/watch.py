# SPDX-License-Identifier: Apache-2.0
"""The watch: lets a program show the progress of an audit. By default nothing is shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Watch: TypeAlias = Callable[..., AbstractContextManager[None]]
"""Called with a description, a function that returns how much is done, the total (None if it is not known), and
``unit=`` if that is not bytes. It shows the progress while its block runs."""


def unseen(*_args: object, **_named: object) -> AbstractContextManager[None]:
    """Nobody watches."""
    return nullcontext()
