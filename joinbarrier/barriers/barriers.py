# SPDX-License-Identifier: Apache-2.0
"""The barriers as users hold them: arguments are checked here, decisions are made by either implementation.

``impl="native"`` is the compiled one, ``impl="reference"`` the plain Python that specifies it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Protocol, TypeAlias

from framegate.joinbarrier.barriers.native import NativeBarrier
from framegate.joinbarrier.barriers.readiness import Readiness
from framegate.joinbarrier.maps.mergemap import Announce, MergeMap
from framegate.joinbarrier.maps.rules import U32_MAX, U64_MAX
from framegate.schema.errors import InvalidValue
from framegate.schema.merge import ClockDomain
from framegate.shmpool.clock import monotonic_ns

if TYPE_CHECKING:
    from framegate.spec.join import Barrier

Implementation: TypeAlias = Literal["native", "reference"]


class _Decides(Protocol):
    @property
    def epoch(self) -> int: ...
    @property
    def unknown_streams(self) -> int: ...
    @property
    def older_epochs(self) -> int: ...
    @property
    def is_valid(self) -> bool: ...

    def apply(self, announced: MergeMap | Announce) -> bool: ...
    def invalidate(self) -> None: ...
    def new_epoch(self, epoch: int) -> bool: ...
    def observe(
        self,
        stream: int,
        seq: int,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        now_ns: int,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool: ...
    def input_epoch(self, stream: int, epoch: int) -> bool: ...
    def processed(
        self,
        stream: int,
        seq: int | None,
        timestamp_ns: int | None,
        descriptor_timestamp_ns: int | None,
        epoch: int | None,
        clock_domain: ClockDomain | None,
    ) -> bool: ...
    def ready(self, out: int, now_ns: int, clock_domain: ClockDomain | None = None) -> Readiness: ...
    def emitted(self, out: int) -> None: ...


class JoinBarrier:
    """The gate before one output stream in one epoch; blocked until a valid map for just that pair is applied."""

    _decides: _Decides

    def __init__(self, decides: _Decides, out_stream: int) -> None:
        self._decides = decides
        self.out_stream = out_stream

    def __repr__(self) -> str:
        map_or_not = "" if self._decides.is_valid else ", no map"
        return f"<{type(self).__name__} of output {self.out_stream}, epoch {self.epoch}{map_or_not}>"

    @property
    def epoch(self) -> int:
        """The output's epoch."""
        return self._decides.epoch

    @property
    def has_map(self) -> bool:
        """Whether a valid map is in force."""
        return self._decides.is_valid

    def apply(self, announced: MergeMap | Announce) -> bool:
        """Whether this map is in force now: one for another pair, or of the other kind, is not applied.

        An identical map changes nothing; a changed one keeps what is known of the inputs that stay. Raises MapRefused
        for an invalid announce, and is blocked then, whatever was in force before.
        """
        return self._decides.apply(announced)

    def invalidate(self) -> None:
        """Blocks until a map is applied: the authority announced another one, or one that is invalid."""
        self._decides.invalidate()

    def new_epoch(self, epoch: int) -> bool:
        """Blocks until a map for this higher epoch of the output is applied; a lower one is ignored."""
        return self._decides.new_epoch(_number("epoch", epoch, U64_MAX))

    def observe(
        self,
        stream: int,
        seq: int,
        timestamp_ns: int | None = None,
        now_ns: int | None = None,
        epoch: int | None = None,
        *,
        descriptor_timestamp_ns: int | None = None,
        clock_domain: ClockDomain | None = None,
    ) -> bool:
        """A descriptor came, ``timestamp_ns`` being its slot's. Whether it counts: an input of the map, no older epoch.

        ``now_ns`` is the local monotonic time, by default now. Without an ``epoch`` it is the input's current one.
        Raises ClockDomainRefused for times of another domain than the map's, and rejects the join.
        """
        return self._decides.observe(
            _number("stream", stream, U32_MAX),
            _number("seq", seq, U64_MAX),
            _perhaps("timestamp_ns", timestamp_ns),
            _perhaps("descriptor_timestamp_ns", descriptor_timestamp_ns),
            _now(now_ns),
            _perhaps("epoch", epoch),
            clock_domain,
        )

    def input_epoch(self, stream: int, epoch: int) -> bool:
        """An input goes on in a higher epoch, of which no frame has come yet: what it showed before is forgotten."""
        return self._decides.input_epoch(_number("stream", stream, U32_MAX), _number("epoch", epoch, U64_MAX))

    def processed(
        self,
        stream: int,
        seq: int | None = None,
        timestamp_ns: int | None = None,
        epoch: int | None = None,
        *,
        descriptor_timestamp_ns: int | None = None,
        clock_domain: ClockDomain | None = None,
    ) -> bool:
        """The stage has consumed an input's frames up to here; matters to inputs in ``needs_processed``."""
        return self._decides.processed(
            _number("stream", stream, U32_MAX),
            _perhaps("seq", seq),
            _perhaps("timestamp_ns", timestamp_ns),
            _perhaps("descriptor_timestamp_ns", descriptor_timestamp_ns),
            _perhaps("epoch", epoch),
            clock_domain,
        )

    def ready(self, out: int, now_ns: int | None = None, *, clock_domain: ClockDomain | None = None) -> Readiness:
        """Whether one attempt at output ``out``, a sequence or a time, is permitted. Asking changes nothing."""
        return self._decides.ready(_number("out", out, U64_MAX), _now(now_ns), clock_domain)

    def emitted(self, out: int) -> None:
        """An output was made. By timestamp, an earlier one is refused from now on; raises OutputTimeDecreased."""
        self._decides.emitted(_number("out", out, U64_MAX))

    def counters(self) -> dict[str, int]:
        """What was ignored since the start."""
        return {"unknown_streams": self._decides.unknown_streams, "older_epochs": self._decides.older_epochs}


class SequenceJoinBarrier(JoinBarrier):
    """Output n is ready when every input was observed up to the sequence that its rules ask for.

    >>> from framegate.joinbarrier import MergeMap, SequenceRule
    >>> barrier = SequenceJoinBarrier(20001, epoch=0, impl="reference")
    >>> barrier.apply(MergeMap(20001, 0, [SequenceRule(10001, offset=0), SequenceRule(10002, offset=-2)]))
    True
    >>> barrier.observe(10001, seq=10, now_ns=0), barrier.observe(10002, seq=8, now_ns=0)
    (True, True)
    >>> [n for n in range(20) if barrier.ready(n, now_ns=0)]
    [2, 3, 4, 5, 6, 7, 8, 9, 10]
    """

    _KIND: ClassVar[str] = "sequence"

    def __init__(
        self, out_stream: int, epoch: int = 0, needs_processed: Iterable[int] = (), impl: Implementation = "native"
    ) -> None:
        out_stream, epoch = _number("out_stream", out_stream, U32_MAX), _number("epoch", epoch, U64_MAX)
        needed = sorted({_number("needs_processed", stream, U32_MAX) for stream in needs_processed})
        super().__init__(_made(impl, self._KIND, out_stream, epoch, needed), out_stream)


class TimestampJoinBarrier(SequenceJoinBarrier):
    """Output t is ready when every input's time has come as far as its rules ask, less the map's lateness."""

    _KIND = "timestamp"


class LatestValueJoinBarrier(JoinBarrier):
    """Any output is ready when every input has a newest frame, by sequence or by timestamp; stale inputs are absent."""

    def __init__(
        self,
        out_stream: int,
        epoch: int = 0,
        order_by: Literal["seq", "timestamp"] = "seq",
        impl: Implementation = "native",
    ) -> None:
        out_stream, epoch = _number("out_stream", out_stream, U32_MAX), _number("epoch", epoch, U64_MAX)
        if order_by not in ("seq", "timestamp"):
            raise InvalidValue("newest by seq or by timestamp", field="order_by", found=order_by)
        self._latest = _made(impl, f"latest_by_{order_by}", out_stream, epoch, [])
        super().__init__(self._latest, out_stream)

    def ready(self, out: int = 0, now_ns: int | None = None, *, clock_domain: ClockDomain | None = None) -> Readiness:
        """Whether one attempt is permitted; which output it is makes no difference."""
        return super().ready(out, now_ns, clock_domain=clock_domain)

    def selected(self, stream: int) -> int | None:
        """The sequence of the newest frame; None while there is none that can be read."""
        return self._latest.selected(_number("stream", stream, U32_MAX))

    def invalid(self, stream: int, seq: int) -> bool:
        """The selected frame could not be read: its input is absent, and waited for, until a newer frame comes.

        False: another frame is selected, and nothing changes.
        """
        return self._latest.invalid(_number("stream", stream, U32_MAX), _number("seq", seq, U64_MAX))


_IMPLEMENTATIONS: Final = ("native", "reference")


def _made(impl: str, kind: str, out_stream: int, epoch: int, needed: list[int]) -> NativeBarrier | Barrier:
    if impl not in _IMPLEMENTATIONS:
        raise InvalidValue(f"one of {', '.join(_IMPLEMENTATIONS)}", field="impl", found=impl)
    if impl == "native":
        return NativeBarrier(kind, out_stream, epoch, needed)
    from framegate.spec.join import Barrier, Kind

    return Barrier(Kind(kind), out_stream, epoch, needed)


def _number(field: str, value: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        raise InvalidValue(f"wanted 0..{most}", field=field, found=value)
    return number


def _perhaps(field: str, value: int | None) -> int | None:
    return None if value is None else _number(field, value, U64_MAX)


def _now(now_ns: int | None) -> int:
    return monotonic_ns() if now_ns is None else _number("now_ns", now_ns, U64_MAX)
