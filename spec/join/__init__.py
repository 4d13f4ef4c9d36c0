# SPDX-License-Identifier: Apache-2.0
"""The join in plain Python: the specification of the native barrier and stage (PROTOCOL 11.3 to 11.7)."""

from framegate.spec.join.barrier import Barrier
from framegate.spec.join.kind import Kind

__all__ = ["Barrier", "Kind"]
