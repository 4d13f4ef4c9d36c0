# SPDX-License-Identifier: Apache-2.0
"""Schema 903: which input frames make an output."""

from framegate.schema.gen import merge as _generated
from framegate.schema.gen.merge import *  # noqa: F403

__all__ = _generated.__all__
