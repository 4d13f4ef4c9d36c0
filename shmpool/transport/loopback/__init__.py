# SPDX-License-Identifier: Apache-2.0
"""A deterministic message network inside this process, with loss, delay, duplicates and back-pressure to order.

It keeps to the same protocol as Aeron (``shmpool.transport.interface``), so tests and simulations stand on it.
"""

from framegate.shmpool.transport.loopback.faults import Faults
from framegate.shmpool.transport.loopback.network import LoopbackNetwork

__all__ = ["Faults", "LoopbackNetwork"]
