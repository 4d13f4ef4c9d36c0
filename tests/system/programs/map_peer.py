# SPDX-License-Identifier: Apache-2.0
"""One side of a MergeMap exchange, as a process of its own: the authority of an output, or a stage that needs its map.

It prints one JSON object a line for each message that it sent or received. The authority answers until it is
ended; the requester asks until it is answered, then ends.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final, TypeVar

from framegate.schema import merge
from framegate.schema.console.reporting import emit
from framegate.schema.errors import DONE, FAILED, MessageError, OfferFailed
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.shmpool.transport.aeron import AeronTransport
from framegate.shmpool.transport.interface import Outcome, Publication, Subscription

CONTROL_CHANNEL: Final = "aeron:ipc?term-length=4m"
CONTROL_STREAM: Final = 1000
OUT_STREAM: Final = 20_001
OUT_EPOCH: Final = 1
_Message = TypeVar("_Message", merge.SequenceMergeMapRequest, merge.SequenceMergeMapAnnounce)
_TURN_NS: Final = 50_000_000
_ASK_AGAIN_NS: Final = 200_000_000

_LEFT: Final = merge.SequenceMergeMapAnnounce.Rule(
    input_stream_id=10_001, rule_type=merge.MergeRuleType.OFFSET, offset=0
)
_RIGHT: Final = merge.SequenceMergeMapAnnounce.Rule(
    input_stream_id=10_002, rule_type=merge.MergeRuleType.WINDOW, window_size=5
)
THE_MAP: Final = merge.SequenceMergeMapAnnounce(
    out_stream_id=OUT_STREAM,
    epoch=OUT_EPOCH,
    stale_timeout_ns=500_000_000,
    rules=(_LEFT, _RIGHT),
)


def main(arguments: Sequence[str]) -> int:
    """Run one role; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("authority", "requester"))
    parser.add_argument("--aeron-dir", required=True)
    parser.add_argument("--request-channel", default=CONTROL_CHANNEL)
    parser.add_argument("--announce-channel", default=CONTROL_CHANNEL)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args(arguments)
    deadline_ns = monotonic_ns() + int(options.seconds * 1e9)
    with StopSignal() as stop, AeronTransport(options.aeron_dir, client_name=options.role) as transport:
        if options.role == "authority":
            hears = transport.add_subscription(options.request_channel, CONTROL_STREAM)
            speaks = transport.add_publication(options.announce_channel, CONTROL_STREAM)
            return _answer(stop, hears, speaks, deadline_ns)
        hears = transport.add_subscription(options.announce_channel, CONTROL_STREAM)
        speaks = transport.add_publication(options.request_channel, CONTROL_STREAM)
        return _ask(stop, hears, speaks, deadline_ns)


def _answer(stop: StopSignal, hears: Subscription, speaks: Publication, deadline_ns: int) -> int:
    while not stop.is_set and monotonic_ns() < deadline_ns:
        for received in hears.poll(timeout_ns=_TURN_NS):
            request = _decoded(received.data, merge.SequenceMergeMapRequest)
            if request is not None and (request.out_stream_id, request.epoch) == (OUT_STREAM, OUT_EPOCH):
                _tell("received", "authority", request, len(received.data))
                _send("authority", speaks, THE_MAP)
    return DONE


def _ask(stop: StopSignal, hears: Subscription, speaks: Publication, deadline_ns: int) -> int:
    request = merge.SequenceMergeMapRequest(out_stream_id=OUT_STREAM, epoch=OUT_EPOCH)
    ask_at_ns = monotonic_ns()
    while not stop.is_set and monotonic_ns() < deadline_ns:
        if monotonic_ns() >= ask_at_ns and speaks.is_connected:
            _send("requester", speaks, request)
            ask_at_ns = monotonic_ns() + _ASK_AGAIN_NS
        for received in hears.poll(timeout_ns=_TURN_NS):
            announce = _decoded(received.data, merge.SequenceMergeMapAnnounce)
            if announce is not None:
                _tell("received", "requester", announce, len(received.data))
                return DONE
    return FAILED


def _decoded(data: bytes, kind: type[_Message]) -> _Message | None:
    """The message, or None for another one: both directions share one stream."""
    try:
        return kind.decode(data)
    except MessageError:
        return None


def _send(role: str, speaks: Publication, message: _Message) -> None:
    data = message.encode()
    answer = speaks.offer(data)
    if answer == Outcome.NOT_CONNECTED:
        return  # Nobody listens yet; the requester asks again.
    if answer < 0:
        raise OfferFailed("a control message was not taken", outcome=Outcome(answer).name.lower())
    _tell("sent", role, message, len(data))


def _tell(what: str, role: str, message: _Message, size: int) -> None:
    name = type(message).__name__
    emit(
        {
            "event": what,
            "role": role,
            "message": name,
            "bytes": size,
            "at_ns": monotonic_ns(),
            "text": _described(message),
        }
    )


def _described(message: merge.SequenceMergeMapRequest | merge.SequenceMergeMapAnnounce) -> str:
    text = f"output {message.out_stream_id}, epoch {message.epoch}"
    if isinstance(message, merge.SequenceMergeMapRequest):
        return text
    rules = (f"{rule.input_stream_id} {rule.rule_type.name} {_parameter(rule)}" for rule in message.rules)
    return f"{text}: {', '.join(rules)}"


def _parameter(rule: merge.SequenceMergeMapAnnounce.Rule) -> int | None:
    return rule.offset if rule.rule_type is merge.MergeRuleType.OFFSET else rule.window_size


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
