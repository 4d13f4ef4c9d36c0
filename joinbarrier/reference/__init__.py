# SPDX-License-Identifier: Apache-2.0
"""The barrier in plain Python: the specification of the native one (PROTOCOL 11.3 to 11.7)."""

from framegate.joinbarrier.reference.barrier import Barrier
from framegate.joinbarrier.reference.kind import Kind

__all__ = ["Barrier", "Kind"]
