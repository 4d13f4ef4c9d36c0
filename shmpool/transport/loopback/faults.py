# SPDX-License-Identifier: Apache-2.0
"""Faults for the in-memory network: what can happen to a message, and the dice that decide it.

One seeded generator decides everything, and a rule always takes the same number of its values. So a run can be repeated
by its seed if the same calls are made in the same order.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from framegate.schema.errors import InvalidValue


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """The faults for the messages that the rule covers, decided anew for each receiver.

    ``stream_id`` None covers every stream; ``matches`` looks at the message itself. ``loss`` and
    ``duplicate`` are probabilities; ``delay_ns`` is the range, ends included, of a uniform delay. A delayed
    message holds back those behind it, as a stream does, unless ``may_reorder`` lets them overtake.

    >>> FaultRule(stream_id=7, loss=0.5).covers(7, b"any")
    True
    """

    stream_id: int | None = None
    matches: Callable[[bytes], bool] | None = None
    loss: float = 0.0
    duplicate: float = 0.0
    delay_ns: tuple[int, int] = (0, 0)
    may_reorder: bool = False

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidValue("a probability lies between 0 and 1", field=name, have=getattr(self, name))
        if not 0 <= self.delay_ns[0] <= self.delay_ns[1]:
            raise InvalidValue("a delay range goes up from 0", field="delay_ns", have=self.delay_ns)

    def covers(self, stream_id: int, message: bytes) -> bool:
        """Whether this rule covers a message."""
        return self.stream_id in (None, stream_id) and (self.matches is None or self.matches(message))


@dataclass(frozen=True, slots=True)
class Faults:
    """The rules of a network. The first one that covers a message decides."""

    rules: tuple[FaultRule, ...] = ()

    def rule_for(self, stream_id: int, message: bytes) -> FaultRule | None:
        """The deciding rule, or None."""
        return next((rule for rule in self.rules if rule.covers(stream_id, message)), None)


NO_FAULTS: Final = Faults()


class Fate(NamedTuple):
    """What happens to one message on its way to one receiver."""

    copies: int = 1
    delay_ns: int = 0
    may_overtake: bool = False


UNHARMED: Final = Fate()


class Dice:
    """The only source of chance, and the count of what it decided."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it has to repeat, not to be secret
        self.tally: Counter[str] = Counter()

    def session_id(self) -> int:
        """A first session id; Aeron's too begin anywhere in the signed 32-bit range."""
        return self._random.randrange(-(2**31), 2**31)

    def fate(self, rule: FaultRule | None) -> Fate:
        """Decide for one message and one receiver."""
        if rule is None:
            return UNHARMED
        loss, duplicate = self._random.random(), self._random.random()
        delay_ns = self._random.randint(*rule.delay_ns)
        copies = 0 if loss < rule.loss else 2 if duplicate < rule.duplicate else 1
        self._count(copies, delay_ns)
        return Fate(copies, delay_ns, rule.may_reorder)

    def _count(self, copies: int, delay_ns: int) -> None:
        self.tally["lost"] += copies == 0
        self.tally["duplicated"] += copies == 2
        self.tally["delayed"] += copies > 0 and delay_ns > 0
