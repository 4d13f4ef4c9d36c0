# SPDX-License-Identifier: Apache-2.0
"""A MergeMap: the rules by which frames of the inputs make an output. Every instance is valid.

>>> MergeMap(20001, 0, [SequenceRule(10001, offset=0), SequenceRule(10002, window=5)]).streams
(10001, 10002)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from framegate.joinbarrier.maps.rules import (
    check_clock_domain,
    check_numbers,
    check_sequence_rule,
    check_timestamp_rule,
    refused,
)
from framegate.schema import decode_any
from framegate.schema.errors import InvalidValue, MapRefused, UnknownTemplate, WrongSchema
from framegate.schema.merge import (
    ClockDomain,
    MergeRuleType,
    MergeTimeRuleType,
    SequenceMergeMapAnnounce,
    TimestampMergeMapAnnounce,
    TimestampSource,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

Announce: TypeAlias = SequenceMergeMapAnnounce | TimestampMergeMapAnnounce
ANNOUNCES: Final = (SequenceMergeMapAnnounce, TimestampMergeMapAnnounce)
_PAIR_AT: Final = 8
"""The offset after the message header at which both announces have outStreamId u32 and epoch u64."""


@dataclass(frozen=True, slots=True)
class SequenceRule:
    """Output n needs the input's frame ``n + offset``, or the newest of the ``window`` frames up to n."""

    stream: int
    _: KW_ONLY
    offset: int | None = None
    window: int | None = None

    @property
    def kind(self) -> MergeRuleType:
        """What an announce calls it."""
        return MergeRuleType.OFFSET if self.window is None else MergeRuleType.WINDOW


@dataclass(frozen=True, slots=True)
class TimestampRule:
    """Output t needs the input up to ``t + offset_ns``, or its newest frame of [t - window_ns, t]."""

    stream: int
    _: KW_ONLY
    offset_ns: int | None = None
    window_ns: int | None = None
    source: TimestampSource = TimestampSource.SLOT_HEADER

    @property
    def kind(self) -> MergeTimeRuleType:
        """What an announce calls it."""
        return MergeTimeRuleType.OFFSET_NS if self.window_ns is None else MergeTimeRuleType.WINDOW_NS


@dataclass(frozen=True, slots=True)
class MergeMap:
    """The rules of one output stream in one epoch: all by sequence, or all by timestamp.

    Equal maps are an identical re-announce. Raises MapRefused with ``out_stream``, ``epoch``, ``reason`` and, where one
    rule is to blame, its index ``rule`` and its ``stream``. A timestamp map declares its clock domain.
    """

    out_stream: int
    epoch: int
    rules: Sequence[SequenceRule | TimestampRule]
    _: KW_ONLY
    stale_timeout_ns: int | None = None
    clock_domain: ClockDomain | None = None
    lateness_ns: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        try:
            _check(self)
        except MapRefused as bare:
            raise refused(bare.facts, out_stream=self.out_stream, epoch=self.epoch) from None
        if self.clock_domain is not None:
            object.__setattr__(self, "clock_domain", ClockDomain(self.clock_domain))

    @property
    def is_by_timestamp(self) -> bool:
        """Whether the rules are about times; otherwise they are about sequences."""
        return isinstance(self.rules[0], TimestampRule)

    @property
    def sequence_rules(self) -> tuple[SequenceRule, ...]:
        """The rules of a sequence map; empty for a timestamp map."""
        return tuple(rule for rule in self.rules if isinstance(rule, SequenceRule))

    @property
    def timestamp_rules(self) -> tuple[TimestampRule, ...]:
        """The rules of a timestamp map; empty for a sequence map."""
        return tuple(rule for rule in self.rules if isinstance(rule, TimestampRule))

    @property
    def streams(self) -> tuple[int, ...]:
        """Every input once, in the order of the rules."""
        return tuple(dict.fromkeys(rule.stream for rule in self.rules))

    def to_message(self) -> Announce:
        """The announce that carries this map."""
        return _timestamp_message(self) if self.is_by_timestamp else _sequence_message(self)

    @classmethod
    def from_message(cls, message: Announce) -> MergeMap:
        """The map in an announce. Raises MapRefused."""
        try:
            if isinstance(message, SequenceMergeMapAnnounce):
                return _from_sequence(message)
            return _from_timestamp(message)
        except MapRefused as bare:
            raise refused(bare.facts, out_stream=message.out_stream_id, epoch=message.epoch) from None

    @classmethod
    def decode(cls, buffer: Buffer, offset: int = 0) -> MergeMap | None:
        """The map in a received message; None if the message is not an announce, and can be skipped.

        Raises MapRefused for an invalid map, and a MessageError for one that cannot be read at all.
        """
        try:
            message = decode_any(buffer, offset)
        except (WrongSchema, UnknownTemplate):
            return None
        except InvalidValue as unknown:
            _refuse_unknown_enum(buffer, offset, unknown)
        return cls.from_message(message) if isinstance(message, ANNOUNCES) else None


def pair_of(announced: MergeMap | Announce) -> tuple[int, int]:
    """The output stream and epoch of a map."""
    if isinstance(announced, MergeMap):
        return announced.out_stream, announced.epoch
    return announced.out_stream_id, announced.epoch


def is_by_timestamp(announced: MergeMap | Announce) -> bool:
    """Whether a map is by timestamp; otherwise it is by sequence."""
    if isinstance(announced, MergeMap):
        return announced.is_by_timestamp
    return isinstance(announced, TimestampMergeMapAnnounce)


def _check(made: MergeMap) -> None:
    """Check everything that 11.2 asks of a map and that its values alone can show."""
    check_numbers(made.out_stream, made.epoch, made.stale_timeout_ns, made.lateness_ns)
    if not made.rules:
        raise refused({"reason": "no_rules"})
    by_time = isinstance(made.rules[0], TimestampRule)
    if by_time:
        check_clock_domain(made.clock_domain)
    elif made.clock_domain is not None or made.lateness_ns:
        raise refused({"reason": "not_for_sequences"})
    for index, rule in enumerate(made.rules):
        if isinstance(rule, TimestampRule) is not by_time:
            raise refused({"reason": "mixed_rules", "rule": index, "stream": rule.stream})
        if isinstance(rule, TimestampRule):
            kind: int = MergeTimeRuleType.WINDOW_NS if rule.offset_ns is None and rule.window_ns is not None else 0
            check_timestamp_rule(index, rule.stream, kind, rule.source, rule.offset_ns, rule.window_ns)
        else:
            kind = MergeRuleType.WINDOW if rule.offset is None and rule.window is not None else 0
            check_sequence_rule(index, rule.stream, kind, rule.offset, rule.window)


def _from_sequence(message: SequenceMergeMapAnnounce) -> MergeMap:
    check_numbers(message.out_stream_id, message.epoch, message.stale_timeout_ns, 0)
    for index, entry in enumerate(message.rules):
        check_sequence_rule(index, entry.input_stream_id, entry.rule_type, entry.offset, entry.window_size)
    return MergeMap(
        message.out_stream_id,
        message.epoch,
        [SequenceRule(entry.input_stream_id, offset=entry.offset, window=entry.window_size) for entry in message.rules],
        stale_timeout_ns=message.stale_timeout_ns,
    )


def _from_timestamp(message: TimestampMergeMapAnnounce) -> MergeMap:
    lateness_ns = message.lateness_ns or 0
    check_numbers(message.out_stream_id, message.epoch, message.stale_timeout_ns, lateness_ns)
    if message.rules:
        check_clock_domain(message.clock_domain)
    for index, entry in enumerate(message.rules):
        check_timestamp_rule(
            index, entry.input_stream_id, entry.rule_type, entry.timestamp_source, entry.offset_ns, entry.window_ns
        )
    return MergeMap(
        message.out_stream_id,
        message.epoch,
        [
            TimestampRule(
                entry.input_stream_id,
                offset_ns=entry.offset_ns,
                window_ns=entry.window_ns,
                source=TimestampSource(entry.timestamp_source),
            )
            for entry in message.rules
        ],
        stale_timeout_ns=message.stale_timeout_ns,
        clock_domain=message.clock_domain,
        lateness_ns=lateness_ns,
    )


def _sequence_message(made: MergeMap) -> SequenceMergeMapAnnounce:
    entries = [
        SequenceMergeMapAnnounce.Rule(
            input_stream_id=rule.stream,
            rule_type=rule.kind,
            offset=rule.offset,
            window_size=rule.window,
        )
        for rule in made.sequence_rules
    ]
    return SequenceMergeMapAnnounce(
        out_stream_id=made.out_stream,
        epoch=made.epoch,
        stale_timeout_ns=made.stale_timeout_ns,
        rules=tuple(entries),
    )


def _timestamp_message(made: MergeMap) -> TimestampMergeMapAnnounce:
    assert made.clock_domain is not None  # noqa: S101 - a timestamp map without one cannot be made
    entries = [
        TimestampMergeMapAnnounce.Rule(
            input_stream_id=rule.stream,
            rule_type=rule.kind,
            timestamp_source=rule.source,
            offset_ns=rule.offset_ns,
            window_ns=rule.window_ns,
        )
        for rule in made.timestamp_rules
    ]
    return TimestampMergeMapAnnounce(
        out_stream_id=made.out_stream,
        epoch=made.epoch,
        stale_timeout_ns=made.stale_timeout_ns,
        clock_domain=made.clock_domain,
        lateness_ns=made.lateness_ns,
        rules=tuple(entries),
    )


def _refuse_unknown_enum(buffer: Buffer, offset: int, unknown: InvalidValue) -> NoReturn:
    """Raise MapRefused for an unknown enum value, with the output stream and epoch, which stand before it."""
    owner = str(unknown.facts.get("message", "")).partition(".")[0]
    if owner not in {kind.__name__ for kind in ANNOUNCES}:
        raise unknown
    reason = _UNKNOWN[str(unknown.facts["field"])]
    start = offset + _PAIR_AT
    raw = memoryview(buffer).cast("B")[start : start + 12]
    pair = {"out_stream": int.from_bytes(raw[:4], "little"), "epoch": int.from_bytes(raw[4:], "little")}
    raise refused({"reason": reason}, **pair) from unknown


_UNKNOWN: Final = {
    "rule_type": "unknown_rule_type",
    "timestamp_source": "unknown_timestamp_source",
    "clock_domain": "unknown_clock_domain",
}
