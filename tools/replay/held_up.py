# SPDX-License-Identifier: Apache-2.0
"""A replay at full speed that waits for a consumer: when it warns, and when it gives up."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Final

from framegate.schema.errors import ReplayHeldUp
from framegate.shmpool.producer.audience import Audience

SAY_AFTER_NS: Final = 10_000_000_000
DEAF_AFTER_NS: Final = 30_000_000_000
"""How long a consumer may report that it has seen no frame, with half a ring of frames before it. After that it will
never see one. A consumer that is slow, or is held up itself, has seen some, and the replay waits for it."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class HeldUp:
    """One wait. ``sent`` is the newest frame that was sent to the consumers."""

    stream: int
    epoch: int
    sent: int
    began_ns: int
    text: str = ""
    """The stream as people read it."""
    _has_said: bool = False
    _deaf_since_ns: dict[int, int] = field(default_factory=dict)

    def check(self, audience: Audience, now_ns: int) -> None:
        """Check for which consumers the replay waits. Raises ReplayHeldUp."""
        deaf = audience.unmoved(self.epoch)
        self._deaf_since_ns = {each: self._deaf_since_ns.get(each, now_ns) for each in deaf}
        for consumer, since_ns in self._deaf_since_ns.items():
            if now_ns - since_ns >= DEAF_AFTER_NS:
                raise ReplayHeldUp(
                    "a consumer keeps reporting that it has seen no frame",
                    stream=self.stream,
                    consumer=consumer,
                    sent_seq=self.sent,
                    waited_s=(now_ns - since_ns) // 1_000_000_000,
                )
        if not self._has_said and now_ns - self.began_ns >= SAY_AFTER_NS:
            self._has_said = True
            seen = audience.slowest(self.epoch)
            _log.warning(
                "stream %s: the replay waits for its slowest consumer, which has seen up to %s of %d",
                self.text or self.stream,
                seen,
                self.sent,
            )
