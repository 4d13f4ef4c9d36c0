# SPDX-License-Identifier: Apache-2.0
"""Schema 901: attach, leases and shutdown."""

from framegate.schema.gen import driver as _generated
from framegate.schema.gen.driver import *  # noqa: F403

__all__ = _generated.__all__
