# SPDX-License-Identifier: Apache-2.0
"""A replay's part in checkpoints: it stores and acknowledges where each of its streams was at its barrier.

The barriers are sent natively, between the frames. This module, on the client's thread, turns their places into a
state. So nothing that the replay's own thread does or waits for delays an acknowledgement.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from framegate.joinbarrier.checkpoint.manifest import OperatorState
from framegate.joinbarrier.checkpoint.operator.member import CheckpointMember
from framegate.joinbarrier.checkpoint.operator.part import OperatorPart
from framegate.joinbarrier.checkpoint.operator.writer import NotStored, OperatorWriter, Stored
from framegate.joinbarrier.checkpoint.store import CheckpointStore
from framegate.schema import Message
from framegate.schema.control import AckStatus, CheckpointAborted, PipelineAnnounce
from framegate.schema.errors import InvalidValue, StoreFailed
from framegate.shmpool.client.client import Client
from framegate.shmpool.client.link import Link
from framegate.shmpool.clock import monotonic_ns
from framegate.shmpool.producer.sent_barrier import SentBarrier
from framegate.shmpool.transport.interface import Received
from framegate.tools.replay.place import Place
from framegate.tools.replay.replay_state import ReplayState, StreamState
from framegate.tools.replay.restoring import PREFIX
from framegate.tools.replay.sender import Sender

_ATTEMPTS_KEPT: Final = 4
"""How many checkpoints are kept at a time. A coordinator has one under way; older ones are over."""
_STREAMS_NAMED: Final = 8
_log = logging.getLogger(__name__)
Heard: TypeAlias = Callable[[PipelineAnnounce], None]


def operator_id_of(streams: Iterable[int]) -> str:
    """The operator id of a replay. It is made of its streams, which have no other producer, so a restart finds it
    again.

    >>> operator_id_of([10_002, 10_001])
    'replay-10001-10002'
    >>> operator_id_of(range(1, 50))
    'replay-1-to-49-7c7b50b5'
    """
    numbers = sorted(set(streams))
    if len(numbers) <= _STREAMS_NAMED:
        return PREFIX + "-".join(map(str, numbers))
    digest = hashlib.blake2b(",".join(map(str, numbers)).encode(), digest_size=4).hexdigest()
    return f"{PREFIX}{numbers[0]}-to-{numbers[-1]}-{digest}"


@dataclass(slots=True)
class _Attempt:
    """A checkpoint for which barriers were sent."""

    epoch: int
    began_ns: int
    streams: dict[int, StreamState] = field(default_factory=dict)
    state: OperatorState | None = None
    is_stored: bool = False


class ReplayCheckpoints:
    """The checkpoints of a replay. ``close`` leaves the pipeline: a source that has ended owes no barrier (B20)."""

    def __init__(
        self,
        client: Client,
        pipeline: str,
        streams: Iterable[int],
        senders: Mapping[int, Sender],
        source: str,
        on_announce: Heard | None = None,
    ) -> None:
        """``streams`` must send their barriers; ``senders`` are the attached ones, to which later ones are added.

        ``on_announce`` gets the coordinator's announces while the replay is being restored, until ``is_restoring`` is
        False.
        """
        self.is_restoring = on_announce is not None
        self.operator_id = operator_id_of(streams)
        self.store: CheckpointStore | None = None
        self.announced: PipelineAnnounce | None = None
        self._awaited = frozenset(streams)
        self._senders = senders
        self._source = source
        self._on_announce = on_announce
        self._attempts: dict[int, _Attempt] = {}
        self._writer = OperatorWriter()
        self._client = client
        self._member = CheckpointMember(client, pipeline, self.operator_id, 0)
        client.listen(self)

    def close(self) -> None:
        """Store and acknowledge what was begun, then leave. Idempotent."""
        with self._client.turn:
            self._client.remove(self)
        self._writer.close()
        self._settle()
        self._member.close()

    # --- called by the client's thread -------------------------------------------------------------------

    def on_link(self, link: Link) -> None:
        """Give the new link to the member."""

    def on_link_lost(self, _reason: str) -> None:
        """Do nothing: the producers remember the barriers that they sent."""

    def on_message(self, message: Message, now_ns: int) -> None:
        """Give the message to the member."""

    def on_control(self, received: Received, _now_ns: int) -> None:
        """Give the control message to the member."""

    def on_tick(self, now_ns: int) -> None:
        """Handle what was heard, sent and stored."""
        for message in self._member.heard():
            match message:
                case PipelineAnnounce():
                    self._obey(message)
                case CheckpointAborted():
                    self._give_up(message.checkpoint_id)
        for sender in list(self._senders.values()):
            for sent, recorded_epoch in sender.sent_barriers():
                self._note(sender.stream, sent, recorded_epoch, now_ns)
        for checkpoint_id in list(self._attempts):
            self._snapshot(checkpoint_id)
        self._settle()

    # --- the coordinator ---------------------------------------------------------------------------------

    def _obey(self, announced: PipelineAnnounce) -> None:
        before, self.announced = self.announced, announced
        if before is None or before.store != announced.store:
            try:
                self.store = CheckpointStore(announced.store) if announced.store else None
            except StoreFailed as failure:
                self.store = None
                _log.warning("no checkpoint of this replay can be stored: %s", failure)
        for checkpoint_id in list(self._attempts):
            # An announce may be older than the barrier.
            if checkpoint_id <= announced.last_checkpoint_id and checkpoint_id != announced.current_checkpoint_id:
                self._give_up(checkpoint_id)
        if self.is_restoring and self._on_announce is not None:
            self._member.refuse(announced)
            self._on_announce(announced)

    def _give_up(self, checkpoint_id: int) -> None:
        if self._attempts.pop(checkpoint_id, None) is not None:
            self._writer.give_up(checkpoint_id)

    # --- the barriers ------------------------------------------------------------------------------------

    def _note(self, stream: int, sent: SentBarrier, recorded_epoch: int | None, now_ns: int) -> None:
        self._member.last_checkpoint_id = max(self._member.last_checkpoint_id, sent.checkpoint_id)
        attempt = self._attempts.setdefault(sent.checkpoint_id, _Attempt(sent.epoch, now_ns))
        try:
            place = Place.of(sent.position)
        except InvalidValue as refusal:
            self._fail(sent.checkpoint_id, attempt, f"SERIALISATION_FAILED: stream {stream}: {refusal.message}")
            return
        attempt.streams[stream] = StreamState(
            stream=stream,
            loop=place.loop,
            position=place.position,
            recorded_epoch=recorded_epoch,
            source_epoch=sent.source_epoch,
            after_seq=sent.after_seq,
        )
        while len(self._attempts) > _ATTEMPTS_KEPT:
            self._give_up(min(self._attempts))

    def _snapshot(self, checkpoint_id: int) -> None:
        """Store the state, once every stream has sent its barrier or owes none."""
        attempt = self._attempts[checkpoint_id]
        if attempt.is_stored:
            return
        senders = dict(self._senders)
        ended = {stream: sender.ended_state for stream, sender in senders.items()}
        known = {**{stream: state for stream, state in ended.items() if state is not None}, **attempt.streams}
        if (self._awaited | senders.keys()) - known.keys():
            return
        attempt.is_stored = True
        store = self.store
        if store is None:
            _log.info("checkpoint %d is not stored: no coordinator said where", checkpoint_id)
            return
        state = ReplayState(
            operator_id=self.operator_id,
            checkpoint_id=checkpoint_id,
            epoch=attempt.epoch,
            source=self._source,
            streams=tuple(known[stream] for stream in sorted(known)),
        )

        def write_state() -> int:
            attempt.state = store.write_state(checkpoint_id, self.operator_id, state.encode())
            return attempt.state.bytes

        def write_part() -> int:
            assert attempt.state is not None  # noqa: S101  (steps are stored in their order, or not at all)
            store.write_part(checkpoint_id, OperatorPart(state=attempt.state))
            # A source has no frames in flight.
            return 0

        self._writer.put(checkpoint_id, write_state, is_complete=False)
        self._writer.put(checkpoint_id, write_part, is_complete=True)

    def _settle(self) -> None:
        """Handle the results of the writer."""
        for result in self._writer.results():
            attempt = self._attempts.get(result.checkpoint_id)
            if attempt is not None:
                self._acknowledge(result, attempt)

    def _acknowledge(self, result: Stored | NotStored, attempt: _Attempt) -> None:
        if isinstance(result, NotStored):
            self._fail(result.checkpoint_id, attempt, result.reason)
            return
        status = AckStatus.COMPLETE if result.is_complete else AckStatus.SNAPSHOT_TAKEN
        duration_ns = monotonic_ns() - attempt.began_ns
        self._member.acknowledge(result.checkpoint_id, attempt.epoch, status, duration_ns, result.bytes)
        if result.is_complete:
            del self._attempts[result.checkpoint_id]

    def _fail(self, checkpoint_id: int, attempt: _Attempt, reason: str) -> None:
        self._give_up(checkpoint_id)
        duration_ns = monotonic_ns() - attempt.began_ns
        self._member.acknowledge(checkpoint_id, attempt.epoch, AckStatus.FAILED, duration_ns, 0, reason)
