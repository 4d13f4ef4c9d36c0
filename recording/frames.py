# SPDX-License-Identifier: Apache-2.0
"""The frames of a recording, ready to be sent again: each combines a descriptor, a slot header and a payload.

Incomplete frames come too, with their cause, so that a replay can count them. A position is the number of messages in
the file before it. It does not depend on the map of topics, so a replay can go on at a position that another one
printed.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from framegate.recording.foreign import ForeignTopic, Form
from framegate.recording.header_time import HEADER, LOG
from framegate.recording.recorded import LOSS_TOPIC, Recorded, Topic
from framegate.recording.source import Source
from framegate.recording.topic_map import stream_of
from framegate.schema import Message
from framegate.schema.control import CheckpointBarrier, ControlSignal, Watermark
from framegate.schema.errors import MessageError
from framegate.schema.wire import FrameDescriptor
from framegate.shmpool.layout.region_numbers import SLOT_BYTES
from framegate.shmpool.layout.slot import NULL_TIMESTAMP, DropCause
from framegate.shmpool.layout.slot import read as read_slot
from framegate.shmpool.layout.tensor import DTYPES, Tensor

NOT_RECORDED: Final = "not_recorded"
LOST: Final = "lost"
UNREADABLE: Final = "unreadable"
_HEADER_BYTES: Final = 8
_PLACE: Final = struct.Struct("<12x I H")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameOfRecording:
    """A frame as it was recorded: everything that its slot and its descriptor said."""

    position: int
    """How many messages the file has up to the frame's end."""
    log_time_ns: int
    stream: int
    """The stream that it is sent on: the recorded one, unless its topic is mapped to another."""
    epoch: int
    seq: int
    descriptor_timestamp_ns: int | None
    timestamp_ns: int | None
    """The time in the slot header."""
    trace_id: int
    tensor: Tensor
    strides: tuple[int, ...]
    payload: bytes

    @property
    def array(self) -> npt.NDArray[Any]:
        """The payload as an array, without a copy."""
        return np.ndarray(self.tensor.dims, DTYPES[self.tensor.dtype], self.payload, strides=self.strides)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A frame that was announced, but cannot be sent again."""

    position: int
    log_time_ns: int
    stream: int
    recorded_stream: int
    epoch: int
    seq: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A barrier, a watermark or a signal, at its place between the frames."""

    position: int
    log_time_ns: int
    stream: int
    message: CheckpointBarrier | Watermark | ControlSignal


@dataclass(frozen=True, slots=True)
class LostPayloads:
    """A range of frames without payload, and why, as the recording says at its end."""

    stream: int
    epoch: int
    first: int
    last: int
    cause: str


@dataclass(slots=True)
class Unread:
    """The messages of one stream that cannot be decoded: they have another schema or version, or are damaged."""

    count: int
    problem: str
    """The problem with the first of them."""

    def __str__(self) -> str:
        return f"{self.count} messages cannot be read, the first: {self.problem}"


Item: TypeAlias = FrameOfRecording | LeftOut | Between
_LOSSES_MAX: Final = 100_000


@dataclass(slots=True)
class _Begun:
    """A descriptor whose payload has not come yet."""

    descriptor: FrameDescriptor
    log_time_ns: int
    slot: bytes | None = None


@dataclass(slots=True)
class Passage:
    """One pass through a recording. Iterate it once."""

    recording: Source
    topics: Mapping[str, int] = field(default_factory=dict)
    """Streams by topic. Topics of other programs are sent only if they are here; our own need no entry."""
    times: str = LOG
    """Whether frames of other programs have the log's time, or the time in their header."""
    position: int = 0
    not_timed: int = 0
    """How many messages have no time of their own, although it was asked for: their frames have no timestamp."""
    not_decoded: int = 0
    """How many messages do not match their schema: their bytes are the frames."""
    not_images: int = 0
    """How many of those have the schema of an image."""
    as_bytes: dict[str, str] = field(default_factory=dict)
    """The topics whose messages become no arrays, and why: their bytes are the frames."""
    losses: list[LostPayloads] = field(default_factory=list)
    """The losses that the file reports, as far as it was read."""
    unread: dict[int, Unread] = field(default_factory=dict)
    """The messages that cannot be decoded, by stream. None of them is sent."""
    _begun: dict[int, _Begun] = field(default_factory=dict)
    _counted: dict[int, int] = field(default_factory=dict)
    _ways: dict[Topic, int | None] = field(default_factory=dict)
    _foreign_topics: dict[Topic, ForeignTopic] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Item]:
        for recorded in self.recording.by_time():
            self.position += 1
            stream = self._way(recorded.topic)
            if stream is not None:
                yield from self._take(recorded, stream)
            elif recorded.topic.name == LOSS_TOPIC:
                self._note_loss(recorded.data)
        for stream in list(self._begun):
            yield from self._given_up(stream)

    def _way(self, topic: Topic) -> int | None:
        if topic not in self._ways:
            self._ways[topic] = stream_of(topic, self.topics)
        return self._ways[topic]

    def _take(self, recorded: Recorded, stream: int) -> Iterator[Item]:
        match recorded.topic.kind if recorded.topic.stream is not None else None:
            case None:
                yield self._foreign(recorded, stream)
            case "FrameDescriptor":
                yield from self._descriptor(recorded, stream)
            case "SlotHeader":
                begun = self._begun.get(stream)
                if begun is not None and begun.log_time_ns == recorded.log_time_ns:
                    begun.slot = recorded.data
            case "payload":
                begun = self._begun.get(stream)
                if begun is not None and begun.slot is not None and begun.log_time_ns == recorded.log_time_ns:
                    del self._begun[stream]
                    yield self._whole(begun, begun.slot, recorded.data, stream)
            case "CheckpointBarrier" | "Watermark" | "ControlSignal":
                yield from self._between(recorded, stream)

    def _descriptor(self, recorded: Recorded, stream: int) -> Iterator[Item]:
        yield from self._given_up(stream)
        message = self._decoded(recorded, stream)
        if isinstance(message, FrameDescriptor):
            self._begun[stream] = _Begun(message, recorded.log_time_ns)

    def _between(self, recorded: Recorded, stream: int) -> Iterator[Item]:
        yield from self._given_up(stream)
        message = self._decoded(recorded, stream)
        if isinstance(message, CheckpointBarrier | Watermark | ControlSignal):
            yield Between(position=self.position, log_time_ns=recorded.log_time_ns, stream=stream, message=message)

    def _decoded(self, recorded: Recorded, stream: int) -> Message | None:
        try:
            return recorded.message()
        except MessageError as failure:
            # `inspect` shows each of them. None of them can be sent.
            said = self.unread.setdefault(stream, Unread(0, str(failure).splitlines()[0]))
            said.count += 1
            return None

    def _given_up(self, stream: int) -> Iterator[Item]:
        """The frame of a stream whose payload did not come before the next message, if there is one."""
        before = self._begun.pop(stream, None)
        if before is not None:
            yield self._left_out(before, stream, NOT_RECORDED if self.recording.has_no_payloads else LOST)

    def _note_loss(self, data: bytes) -> None:
        try:
            said = json.loads(data)
            if said["part"] == "payload" and len(self.losses) < _LOSSES_MAX:
                stream, epoch, first, last = (int(said[key]) for key in ("stream", "epoch", "first", "last"))
                self.losses.append(LostPayloads(stream, epoch, first, last, str(said["cause"])))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            # The message explains nothing then. The frames are counted as lost all the same.
            return

    def _left_out(self, begun: _Begun, stream: int, cause: str) -> LeftOut:
        said = begun.descriptor
        return LeftOut(
            position=self.position,
            log_time_ns=begun.log_time_ns,
            stream=stream,
            recorded_stream=said.stream_id,
            epoch=said.epoch,
            seq=said.seq,
            cause=cause,
        )

    def _whole(self, begun: _Begun, slot: bytes, payload: bytes, stream: int) -> Item:
        body = memoryview(slot)[_HEADER_BYTES:]
        if len(body) < SLOT_BYTES:
            return self._left_out(begun, stream, UNREADABLE)
        index, pool_id = _PLACE.unpack_from(body)
        header = read_slot(body, index, {pool_id: len(payload)})
        if isinstance(header, DropCause) or header.values_bytes != len(payload):
            return self._left_out(begun, stream, UNREADABLE)
        said = begun.descriptor
        return FrameOfRecording(
            position=self.position,
            log_time_ns=begun.log_time_ns,
            stream=stream,
            epoch=said.epoch,
            seq=said.seq,
            descriptor_timestamp_ns=said.timestamp_ns,
            timestamp_ns=None if header.timestamp_ns == NULL_TIMESTAMP else header.timestamp_ns,
            trace_id=said.trace_id or 0,
            tensor=header.tensor,
            strides=header.strides,
            payload=payload,
        )

    def _foreign(self, recorded: Recorded, stream: int) -> FrameOfRecording:
        """The frame of a message of another program, numbered in the order of arrival."""
        seq = self._counted.get(stream, 0)
        self._counted[stream] = seq + 1
        topic = self._foreign_topic(recorded.topic)
        taken = topic.frame(recorded.data)
        self.not_decoded += bool(taken.problem)
        self.not_images += bool(taken.problem) and topic.form is Form.IMAGE
        tensor = Tensor.of(taken.array)
        timestamp_ns = recorded.log_time_ns if self.times != HEADER else taken.stamp_ns
        self.not_timed += timestamp_ns is None
        return FrameOfRecording(
            position=self.position,
            log_time_ns=recorded.log_time_ns,
            stream=stream,
            epoch=1,
            seq=seq,
            descriptor_timestamp_ns=timestamp_ns,
            timestamp_ns=timestamp_ns,
            trace_id=0,
            tensor=tensor,
            strides=taken.array.strides,
            payload=taken.array.tobytes(),
        )

    def _foreign_topic(self, topic: Topic) -> ForeignTopic:
        if topic not in self._foreign_topics:
            found = self._foreign_topics[topic] = ForeignTopic(topic)
            if found.why_bytes:
                self.as_bytes[topic.name] = found.why_bytes
        return self._foreign_topics[topic]
