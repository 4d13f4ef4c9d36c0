# SPDX-License-Identifier: Apache-2.0
"""Schema 900: descriptors, control, QoS, metadata and shared-memory layouts."""

from framegate.schema.gen import wire as _generated
from framegate.schema.gen.wire import *  # noqa: F403

__all__ = _generated.__all__
