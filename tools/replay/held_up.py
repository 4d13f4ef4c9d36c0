# SPDX-License-Identifier: Apache-2.0
"""A replay at full speed that waits for a consumer: for how long without a word, and when it gives up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from framegate.schema.errors import ReplayHeldUp
from framegate.shmpool.producer.audience import Audience

SAY_AFTER_NS: Final = 10_000_000_000
DEAF_AFTER_NS: Final = 30_000_000_000
"""A consumer that has half a ring of frames before it, and says for so long that it saw none, will not say otherwise.
One that is slow, or is held up itself, has seen some, and is waited for."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class HeldUp:
    """One wait. ``sent`` is the newest frame that the consumers have before them."""

    stream: int
    epoch: int
    sent: int
    began_ns: int
    _has_said: bool = False
    _deaf_since_ns: dict[int, int] = field(default_factory=dict)

    def check(self, audience: Audience, now_ns: int) -> None:
        """Look who is waited for. Raises ReplayHeldUp."""
        deaf = audience.unmoved(self.epoch)
        self._deaf_since_ns = {each: self._deaf_since_ns.get(each, now_ns) for each in deaf}
        for consumer, since_ns in self._deaf_since_ns.items():
            if now_ns - since_ns >= DEAF_AFTER_NS:
                raise ReplayHeldUp(
                    "a consumer says all the time that it has seen nothing",
                    stream=self.stream,
                    consumer=consumer,
                    sent_seq=self.sent,
                    waited_s=(now_ns - since_ns) // 1_000_000_000,
                )
        if not self._has_said and now_ns - self.began_ns >= SAY_AFTER_NS:
            self._has_said = True
            seen = audience.slowest(self.epoch)
            _log.warning(
                "stream %d: the replay waits for its slowest consumer, which has seen up to %s of %d",
                self.stream,
                seen,
                self.sent,
            )
