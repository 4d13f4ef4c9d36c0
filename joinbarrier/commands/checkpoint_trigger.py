# SPDX-License-Identifier: Apache-2.0
"""``framegate checkpoint trigger``: ask a pipeline's coordinator for a checkpoint, and wait for what comes of it."""

from __future__ import annotations

import secrets
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from framegate.joinbarrier.checkpoint.trigger_request import Outcome, TriggerRequest
from framegate.schema import Message, decode_any
from framegate.schema.codec import HEADER, HEADER_LENGTH
from framegate.schema.console.quantities import byte_size, rounded
from framegate.schema.console.reporting import emit
from framegate.schema.control import SCHEMA_ID, TriggerState
from framegate.schema.errors import DONE, CheckpointNotTaken, Interrupted, MessageError, NoCoordinator
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.control_outbox import ControlOutbox
from framegate.shmpool.client.link import Link
from framegate.shmpool.client.options import ClientOptions
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.stop_signal import StopSignal
from framegate.shmpool.transport.interface import Received

_LOOK_AGAIN_S: Final = 0.005
ANSWER_S: Final = 10.0
"""A coordinator answers at once, and announces its pipeline every second; a driver may just be starting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerOptions(ClientOptions):
    """What the command line said."""

    pipeline: str = "default"
    unaligned: bool = False
    timeout_s: float = 60.0


class RequestMember:
    """A member of a client that asks for one checkpoint."""

    def __init__(self, client: Client, request: TriggerRequest) -> None:
        self._client = client
        self._request = request
        self._outbox = ControlOutbox(Counter())
        client.listen(self)

    def on_link(self, link: Link) -> None:
        """A new Aeron client: nobody has heard us on it yet."""
        self._outbox.open(link)
        self._request.ask_anew()

    def on_link_lost(self, _reason: str) -> None:
        """The coordinator may live on: what it does is heard on the next link."""
        self._outbox.lose()

    def on_message(self, message: Message, now_ns: int) -> None:
        """Messages of other streams are not for us; those of the control stream come by ``on_control``."""

    def on_control(self, received: Received, _now_ns: int) -> None:
        """One message of the control stream."""
        if len(received.data) >= HEADER_LENGTH and HEADER.unpack_from(received.data)[2] == SCHEMA_ID:
            try:
                self._request.on_message(decode_any(received.data))
            except MessageError:
                return

    def on_tick(self, now_ns: int) -> None:
        """Ask, and ask again."""
        message = self._request.due(now_ns)
        if message is not None:
            self._outbox.send(message)
        self._outbox.flush()

    def close(self) -> None:
        """Be silent from now on. Idempotent."""
        with self._client.turn:
            self._client.remove(self)
            self._outbox.close()

    def __str__(self) -> str:
        return "request for a checkpoint"


def run(options: TriggerOptions) -> int:
    """Ask, wait and print; the exit code."""
    request = TriggerRequest(secrets.randbits(63) + 1, options.pipeline, is_unaligned=options.unaligned)
    _tell(ask(request, options), options)
    return DONE


def ask(request: TriggerRequest, options: TriggerOptions) -> Outcome:
    """Ask until it is over. Raises NoCoordinator, CheckpointNotTaken or Interrupted."""
    with StopSignal() as stop, options.connect() as client, closing(RequestMember(client, request)):
        began_ns = monotonic_ns()
        while request.outcome is None:
            if stop.wait(_LOOK_AGAIN_S):
                raise interrupted(request, options)
            waited_s = (monotonic_ns() - began_ns) / 1e9
            if waited_s >= options.timeout_s or (waited_s >= ANSWER_S and is_alone(request, options)):
                raise overdue(request, options, waited_s)
    if request.outcome.state != TriggerState.COMPLETE:
        raise not_taken(request.outcome, options)
    return request.outcome


def _tell(outcome: Outcome, options: TriggerOptions) -> None:
    duration_ms = None if outcome.duration_ns is None else outcome.duration_ns / 1e6
    if options.json:
        found = {"checkpoint_id": outcome.checkpoint_id, "epoch": outcome.epoch, "pipeline": options.pipeline}
        emit({"event": "checkpoint", **found, "duration_ms": duration_ms, "size_bytes": outcome.bytes})
    elif duration_ms is None:
        print(f"checkpoint {outcome.checkpoint_id} of {options.pipeline}: complete; its coordinator was restarted")
    else:
        took, size = rounded(outcome.duration_ns), byte_size(outcome.bytes)
        print(f"checkpoint {outcome.checkpoint_id} of {options.pipeline}: {took}, {size}")


def interrupted(request: TriggerRequest, options: TriggerOptions) -> Interrupted:
    """What the user leaves behind who does not wait for the end."""
    if is_alone(request, options):
        hint = "Start the driver with a [checkpoint.NAME] table for the pipeline, or see `framegate doctor`."
        return Interrupted(
            "ended by the user; nobody answered, so nothing was begun", pipeline=options.pipeline, hint=hint
        )
    if not request.checkpoint_id:
        return Interrupted("ended by the user; its coordinator has not begun it yet", pipeline=options.pipeline)
    return Interrupted("ended by the user; it goes on", pipeline=options.pipeline, **_named(request.checkpoint_id))


def not_taken(outcome: Outcome, options: TriggerOptions) -> CheckpointNotTaken:
    """Refused, or begun and given up."""
    how = outcome.state.name.lower()
    return CheckpointNotTaken(f"{how}: {outcome.reason}", pipeline=options.pipeline, **_named(outcome.checkpoint_id))


def overdue(request: TriggerRequest, options: TriggerOptions, waited_s: float) -> NoCoordinator | CheckpointNotTaken:
    """The time is up."""
    waited = f"{waited_s:.1f}"
    if is_alone(request, options):
        announced = ", ".join(sorted(request.pipelines)) or "none"
        return NoCoordinator("nobody answers", pipeline=options.pipeline, announced=announced, waited_s=waited)
    return CheckpointNotTaken(
        "the request is still running" if request.checkpoint_id else "the request has not begun yet",
        pipeline=options.pipeline,
        **_named(request.checkpoint_id),
        waited_s=waited,
        hint="It goes on: see the driver's log and `framegate checkpoint ls DIR`, or give a longer --timeout.",
    )


def is_alone(request: TriggerRequest, options: TriggerOptions) -> bool:
    """Whether no coordinator of the pipeline was heard. One that announces it and is silent waits for its store."""
    return not request.is_heard and options.pipeline not in request.pipelines


def _named(checkpoint_id: int) -> dict[str, Any]:
    return {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
