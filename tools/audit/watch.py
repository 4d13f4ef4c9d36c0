# SPDX-License-Identifier: Apache-2.0
"""Who may watch how far an audit is. Nobody does where a program asks for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

Watch: TypeAlias = Callable[..., AbstractContextManager[None]]
"""Called with what is done, a function that says how much of it by now, how much in all (None: not known), and
``unit=`` where these are no bytes; watches while the block runs."""


def unseen(*_args: object, **_named: object) -> AbstractContextManager[None]:
    """Nobody watches."""
    return nullcontext()
