# SPDX-License-Identifier: Apache-2.0
"""Messages of other programs as frames: the fields of a message's schema decide what array it becomes.

| a message with | is |
|---|---|
| ``width``, ``height``, ``encoding``, ``step``, ``data`` | an image: height by width, by channels |
| ``fields``, ``data`` and ``point_step`` or ``point_stride`` | points: a row for each, with its numbers |
| ``format`` and ``data`` | its data as it is: uint8, still compressed |
| numbers, and texts beside them | its numbers in one row, without its own stamp |
| anything else | the bytes of the message: uint8 |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from framegate.recording.decoders import messages_of
from framegate.recording.described import Described, cloud_of, image_of
from framegate.recording.header_time import Stamp, stamp_of
from framegate.recording.message_fields import Field, Fields, Kind, Messages, Unreadable, named
from framegate.recording.numbers import array_of, columns_of, dtype_of
from framegate.recording.one_line import one_line
from framegate.recording.recorded import Topic


class Form(Enum):
    """The kinds of arrays that messages become."""

    IMAGE = "image"
    POINTS = "points"
    COMPRESSED = "compressed"
    NUMBERS = "numbers"
    BYTES = "bytes"


_IMAGE: Final = {"width", "height", "encoding", "step", "data"}
_ROS_POINTS: Final = {"width", "height", "fields", "point_step", "row_step", "data"}
_FOXGLOVE_POINTS: Final = {"fields", "point_stride", "data"}
_COMPRESSED: Final = {"format", "data"}


@dataclass(frozen=True, slots=True)
class ForeignFrame:
    """A message of another program as a frame."""

    array: npt.NDArray[Any]
    form: Form = Form.BYTES
    columns: tuple[str, ...] = ()
    """The names of its columns, if they were asked for."""
    stamp_ns: int | None = None
    """The message's own time; None if it has none."""
    problem: str = ""
    """Why it is given as bytes, although its schema says that it is something else."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is known of messages with certain fields."""

    fields: Fields | None
    form: Form
    stamp: Stamp | None
    numbers: Fields
    dtype: np.dtype[Any] | None


class ForeignTopic:
    """The messages of one topic of another program."""

    def __init__(self, topic: Topic) -> None:
        """Raises ``DecoderMissing``."""
        self.why_bytes = ""
        """Why its messages are given as bytes, if their encoding is known."""
        self._messages: Messages | None = None
        try:
            self._messages = messages_of(topic)
        except Unreadable as failure:
            self.why_bytes = one_line(str(failure))
        self._plan = self._planned(None if self._messages is None else self._messages.fields)
        if self._messages is not None and self._messages.fields is not None and self._plan.form is Form.BYTES:
            self.why_bytes = one_line(f"messages of {topic.schema} do not hold numbers alone")

    @property
    def is_told_by_messages(self) -> bool:
        """Whether the topic has no schema, so that only each message shows what it holds."""
        return self._messages is not None and self._messages.fields is None

    @property
    def stamp(self) -> Stamp | None:
        """Where its messages have their own time, by the schema or by the last message that was read."""
        return self._plan.stamp

    @property
    def form(self) -> Form:
        """What array its messages become, by the schema or by the last message that was read."""
        return self._plan.form

    def frame(self, data: bytes, *, is_named: bool = False) -> ForeignFrame:
        """The frame of a message, with the names of its columns if ``is_named``."""
        if self._messages is None:
            return ForeignFrame(np.frombuffer(data, np.uint8))
        stamp_ns = None
        try:
            message = self._messages.read(data)
            plan = self._plan_for(self._messages.fields_of(message))
            stamp_ns = None if plan.stamp is None else plan.stamp.time_ns(self._messages, message)
            array, columns = self._array(plan, message, is_named=is_named)
        except Unreadable as failure:
            return ForeignFrame(np.frombuffer(data, np.uint8), stamp_ns=stamp_ns, problem=str(failure))
        if array is None:
            return ForeignFrame(np.frombuffer(data, np.uint8), stamp_ns=stamp_ns)
        return ForeignFrame(array, plan.form, tuple(columns), stamp_ns)

    def _plan_for(self, fields: Fields) -> _Plan:
        if self._plan.fields is not fields:
            self._plan = self._planned(fields)
        return self._plan

    def _planned(self, fields: Fields | None) -> _Plan:
        if self._messages is None or fields is None:
            return _Plan(None, Form.BYTES, None, (), None)
        stamp = stamp_of(fields)
        numbers = fields if stamp is None else stamp.left_out_of(fields)
        dtype = dtype_of(numbers)
        form = _form_of(fields, self._messages) or (Form.BYTES if dtype is None else Form.NUMBERS)
        return _Plan(fields, form, stamp, numbers, dtype)

    def _array(self, plan: _Plan, message: Any, *, is_named: bool) -> tuple[npt.NDArray[Any] | None, list[str]]:
        assert self._messages is not None  # noqa: S101  (the caller has looked)
        get = Described(self._messages, message)
        match plan.form:
            case Form.IMAGE:
                return image_of(get).array(), []
            case Form.POINTS:
                cloud = cloud_of(get)
                return cloud.array(), cloud.columns if is_named else []
            case Form.COMPRESSED:
                return np.frombuffer(get.bytes("data"), np.uint8), []
            case Form.NUMBERS if plan.dtype is not None:
                array = array_of(self._messages, message, plan.numbers, plan.dtype)
                return array, columns_of(self._messages, message, plan.numbers) if is_named else []
        return None, []


def _form_of(fields: Fields, messages: Messages) -> Form | None:
    """What array a message becomes, by the names of its fields; None if they do not show it."""
    names = {field.name for field in fields}
    data = named(fields, "data")
    if data is None or not _is_payload(data, messages):
        return None
    if names >= _IMAGE:
        return Form.IMAGE
    if names >= _ROS_POINTS or names >= _FOXGLOVE_POINTS:
        return Form.POINTS
    return Form.COMPRESSED if names >= _COMPRESSED else None


def _is_payload(field: Field, messages: Messages) -> bool:
    if field.kind is Kind.NUMBER:
        return field.is_many and field.dtype is not None and field.dtype.itemsize == 1
    return not field.is_many and (field.kind is Kind.BYTES or (field.kind is Kind.TEXT and messages.has_bytes_in_texts))
