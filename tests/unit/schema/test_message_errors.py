# SPDX-License-Identifier: Apache-2.0
"""Each error of the codecs can be had, says what was wanted and found, and survives pickling with its facts."""

from __future__ import annotations

import pickle

import pytest
from framegate.schema.errors import MessageError, numbered

from tests.unit.schema.message_errors import EXAMPLES

FIRST_LINES = {
    101: "[FG-101 WRONG_SCHEMA] wanted=[900, 901, 903, 920] found=910: not a schema of this family",
    102: "[FG-102 UNKNOWN_TEMPLATE] schema=900 found=99: no such message",
    103: "[FG-103 UNSUPPORTED_VERSION] schema=901 supported=1 found=2: ShmLeaseKeepalive",
    104: "[FG-104 WRONG_BLOCK_LENGTH] wanted_bytes=40 found_bytes=39 version=1: FrameDescriptor",
    105: "[FG-105 TRUNCATED] wanted_bytes=40 have_bytes=39: FrameDescriptor ends early",
    106: "[FG-106 LENGTH_LIMIT] limit_bytes=1073741824 found_bytes=4294967295: MetaBlobChunk.bytes",
    107: "[FG-107 INVALID_VALUE] message=FrameDescriptor field=stream_id found=-1: wanted 0..4294967295",
    108: "[FG-108 BUFFER_TOO_SMALL] wanted_bytes=48 have_bytes=47: the message does not fit",
}


def test_every_message_error_has_an_example() -> None:
    assert set(EXAMPLES) == set(FIRST_LINES) == {kind.code for kind in numbered() if issubclass(kind, MessageError)}


@pytest.mark.parametrize("code", EXAMPLES)
def test_error_says_in_its_first_line_what_was_wanted_and_found(code: int) -> None:
    with pytest.raises(MessageError) as caught:
        EXAMPLES[code]()
    assert str(caught.value).splitlines()[0] == FIRST_LINES[code]
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own bytes)
    assert (type(again), str(again), again.facts) == (type(caught.value), str(caught.value), caught.value.facts)
