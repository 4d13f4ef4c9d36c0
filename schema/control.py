# SPDX-License-Identifier: Apache-2.0
"""Schema 920: barriers, watermarks, signals and checkpoint control."""

from framegate.schema.gen import control as _generated
from framegate.schema.gen.control import *  # noqa: F403

__all__ = _generated.__all__
