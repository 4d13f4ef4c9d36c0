# SPDX-License-Identifier: Apache-2.0
"""An operator on the control stream: it says hello, hears its coordinator, and acknowledges (PROTOCOL 12.5)."""

from __future__ import annotations

import logging
import secrets
from collections import Counter, deque
from typing import Final, TypeAlias

from framegate.schema import Message, decode_any
from framegate.schema.control import SCHEMA_ID as CONTROL_SCHEMA
from framegate.schema.control import (
    AckStatus,
    BarrierAck,
    CheckpointAborted,
    HoldIngress,
    IngressCut,
    IngressHello,
    IngressPlace,
    InjectBarrier,
    OperatorHello,
    OperatorState,
    PipelineAnnounce,
)
from framegate.schema.errors import MessageError
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.control_outbox import ControlOutbox
from framegate.shmpool.client.link import Link
from framegate.shmpool.transport.interface import Received

HELLO_NS: Final = 1_000_000_000
"""The time between two hellos while no coordinator was heard."""
_HELLOS_A_TIMEOUT: Final = 3
_HEARD_MAX: Final = 1_024
_NS_PER_MS: Final = 1_000_000
_SCHEMA: Final = CONTROL_SCHEMA.to_bytes(2, "little")
Heard: TypeAlias = PipelineAnnounce | CheckpointAborted | InjectBarrier | HoldIngress | IngressCut
_log = logging.getLogger(__name__)


class CheckpointMember:
    """An operator's membership in a pipeline, served by a client. Messages wait for the operator's thread; ``close``
    ends it.
    """

    def __init__(
        self,
        client: Client,
        pipeline: str,
        operator_id: str,
        last_checkpoint_id: int,
        ingress: tuple[int, ...] = (),
    ) -> None:
        self.pipeline = pipeline
        self.operator_id = operator_id
        self.ingress = ingress
        """The streams that the operator cuts by itself."""
        self.last_checkpoint_id = last_checkpoint_id
        """The highest checkpoint id that the operator has seen. Its own thread writes it."""
        self.counts = Counter[str]()
        self._instance_id = secrets.randbits(63)
        self._client = client
        self._outbox = ControlOutbox(self.counts)
        self._heard = deque[Heard](maxlen=_HEARD_MAX)
        self._coordinator_epoch: int | None = None
        self._refused_id = 0
        self._hello_ns = HELLO_NS
        self._hello_at_ns = 0
        client.listen(self)

    # --- for the operator --------------------------------------------------------------------------------

    def heard(self) -> list[Heard]:
        """Take what the coordinator said since the previous call, oldest first."""
        found = []
        while self._heard:
            found.append(self._heard.popleft())
        return found

    def acknowledge(
        self, checkpoint_id: int, epoch: int, status: AckStatus, duration_ns: int, stored_bytes: int, reason: str = ""
    ) -> None:
        """Tell the coordinator what became of a step."""
        self._send(
            BarrierAck(
                checkpoint_id=checkpoint_id,
                epoch=epoch,
                status=status,
                duration_ns=duration_ns,
                bytes=stored_bytes,
                pipeline=self.pipeline,
                operator_id=self.operator_id,
                reason=reason.encode("ascii", "replace").decode(),
            )
        )

    def report_place(self, held: HoldIngress, place: tuple[int | None, int | None]) -> None:
        """Tell the coordinator where the operator holds a stream: epoch and newest sequence."""
        self._send(
            IngressPlace(
                checkpoint_id=held.checkpoint_id,
                epoch=held.epoch,
                stream_id=held.stream_id,
                source_epoch=place[0],
                after_seq=place[1],
                pipeline=self.pipeline,
                operator_id=self.operator_id,
            )
        )

    def refuse(self, announced: PipelineAnnounce) -> None:
        """Refuse the checkpoint under way, which began before this operator could hear its barriers.

        Sources do not send a barrier twice, so the checkpoint would wait until its timeout. Said once for each
        checkpoint.
        """
        checkpoint_id = announced.current_checkpoint_id
        if checkpoint_id > self._refused_id:
            self._refused_id = checkpoint_id
            reason = "OPERATOR_FAILED: it has just been started"
            self.acknowledge(checkpoint_id, announced.epoch, AckStatus.FAILED, 0, 0, reason)

    def close(self) -> None:
        """Leave the pipeline. May be called again."""
        with self._client.turn:
            self._client.remove(self)
            if self._outbox.is_open:
                self._outbox.send(self._hello(OperatorState.LEAVING))
                self._outbox.close()

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Open the outbox of a new Aeron client."""
        self._outbox.open(link)
        self._hello_at_ns = 0

    def on_link_lost(self, _reason: str) -> None:
        """Drop what was not sent: the coordinator gives up whatever it misses."""
        self._outbox.lose()

    def on_message(self, message: Message, now_ns: int) -> None:
        """Ignore messages of other schemas; those about checkpoints come through ``on_control``."""

    def on_control(self, received: Received, _now_ns: int) -> None:
        """Take one message of the control stream, as it came."""
        if received.data[4:6] != _SCHEMA:
            return
        try:
            message = decode_any(received.data)
        except MessageError as failure:
            self.counts["unreadable"] += 1
            _log.debug("a message of schema 920 cannot be read: %s", failure)
            return
        if not isinstance(message, Heard):
            return
        if message.pipeline != self.pipeline:
            return
        if isinstance(message, PipelineAnnounce):
            self._hello_ns = max(message.operator_timeout_ms, 1) * _NS_PER_MS // _HELLOS_A_TIMEOUT
            if message.epoch != self._coordinator_epoch:
                self._coordinator_epoch = message.epoch
                self._hello_at_ns = 0
        self._heard.append(message)

    def on_tick(self, now_ns: int) -> None:
        """Send the hellos that are due."""
        if self._outbox.is_open and now_ns >= self._hello_at_ns:
            self._hello_at_ns = now_ns + self._hello_ns
            # The streams come first, so that a present operator is known with all of its streams.
            for stream in self.ingress:
                self._outbox.send(self._ingress_hello(stream))
            self._outbox.send(self._hello(OperatorState.PRESENT))
        self._outbox.flush()

    def _hello(self, state: OperatorState) -> OperatorHello:
        return OperatorHello(
            instance_id=self._instance_id,
            last_checkpoint_id=self.last_checkpoint_id,
            state=state,
            pipeline=self.pipeline,
            operator_id=self.operator_id,
        )

    def _ingress_hello(self, stream_id: int) -> IngressHello:
        return IngressHello(
            instance_id=self._instance_id, stream_id=stream_id, pipeline=self.pipeline, operator_id=self.operator_id
        )

    def _send(self, message: Message) -> None:
        with self._client.turn:
            self._outbox.send(message)

    def __str__(self) -> str:
        return f"operator {self.operator_id} of pipeline {self.pipeline}"
