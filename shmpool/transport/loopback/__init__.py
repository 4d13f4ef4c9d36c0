# SPDX-License-Identifier: Apache-2.0
"""A deterministic message network inside this process that can make loss, delay, duplicates and back-pressure.

It implements the same protocol as Aeron (``shmpool.transport.interface``); tests and simulations use it.
"""

from framegate.shmpool.transport.loopback.faults import Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

__all__ = ["Faults", "LoopbackNetwork"]
