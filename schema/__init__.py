# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire: codecs of schemas 900, 901, 903 and 920, and the error tree.

>>> from framegate.schema import decode_any
>>> from framegate.schema.merge import SequenceMergeMapRequest
>>> decode_any(SequenceMergeMapRequest(out_stream_id=11000, epoch=9).encode())
SequenceMergeMapRequest(out_stream_id=11000, epoch=9)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from framegate.schema.codec import Message, read_header
from framegate.schema.errors import UnknownTemplate, WrongSchema

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Message", "decode_any", "message_class"]

# Modules are imported at their first message: a process that reads one schema does not load the others.
_MODULES: Final = {900: "wire", 901: "driver", 903: "merge", 920: "control"}


def decode_any(buffer: Buffer, offset: int = 0) -> Message:
    """Decodes the message whose header starts at the offset, whichever of the four schemas it belongs to.

    Raises WrongSchema or UnknownTemplate for a message that is none of ours, and what ``decode`` raises.
    """
    _, template, schema, _ = read_header(buffer, offset)
    return message_class(schema, template).decode(buffer, offset)


def message_class(schema: int, template: int) -> type[Message]:
    """The class of a schema's template."""
    if schema not in _MODULES:
        raise WrongSchema("not a schema of this family", wanted=sorted(_MODULES), found=schema)
    messages: dict[int, type[Message]] = import_module(f"framegate.schema.{_MODULES[schema]}").MESSAGES
    if template not in messages:
        raise UnknownTemplate("no such message", schema=schema, found=template)
    return messages[template]
