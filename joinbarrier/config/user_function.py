# SPDX-License-Identifier: Apache-2.0
"""Functions of the user's own that a join.toml names as ``module:function``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from framegate.schema.errors import WrongUsage

_HINT: Final = "It is imported as Python imports modules: put its folder on PYTHONPATH, or install its package."


def user_function(key: str, target: str) -> Callable[..., Any]:
    """What ``target`` names, for the key that named it.

    Raises WrongUsage, which says whether there is no such module, it cannot be imported, or it has no such function.

    >>> user_function("join.publish", "os.path:basename")("a/b")
    'b'
    """
    module, _, name = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except Exception as failure:
        # Whatever the user's own module raises: it is not a defect of this program.
        raise WrongUsage(f"{module} cannot be imported: {failure!r}", hint=_HINT, key=key, target=target) from failure
    if not callable(found):
        raise WrongUsage(f"{module} has no function {name}", hint=_HINT, key=key, target=target)
    return found  # type: ignore[no-any-return]
