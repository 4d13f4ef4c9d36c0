# SPDX-License-Identifier: Apache-2.0
"""Any valid message survives Python to Rust to Python: same values on the way, same bytes at the end."""

from __future__ import annotations

import pytest
from framegate.schema import Message, decode_any
from framegate.schema.control import MESSAGES as CONTROL
from framegate.schema.driver import MESSAGES as DRIVER
from framegate.schema.merge import MESSAGES as MERGE
from framegate.schema.wire import MESSAGES as WIRE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.codec_probe import CodecProbe, as_values, python_outcome
from tests.property.message_strategies import blocks

ALL = [kind for messages in (WIRE, DRIVER, MERGE, CONTROL) for kind in messages.values()]
THOROUGH = settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])

each_message = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


@each_message
@THOROUGH
@given(data=st.data())
def test_message_survives_the_way_through_rust(
    kind: type[Message], data: st.DataObject, codec_probe: CodecProbe
) -> None:
    message = data.draw(blocks(kind))
    encoded = message.encode()
    name, values = kind.__name__, as_values(message)
    assert len(encoded) == message.encoded_length()
    assert codec_probe.decode(encoded) == (name, values)
    assert codec_probe.encode(name, values) == encoded
    assert kind.decode(encoded) == message
    assert decode_any(encoded) == message


@each_message
@settings(THOROUGH, max_examples=100)
@given(data=st.data())
def test_body_without_header_survives_the_way_through_rust(
    kind: type[Message], data: st.DataObject, codec_probe: CodecProbe
) -> None:
    message = data.draw(blocks(kind))
    body = message.encode_body()
    name, values = kind.__name__, as_values(message)
    assert body == message.encode()[8:]
    assert codec_probe.decode_body(kind, body) == (name, values)
    assert codec_probe.encode_body(name, values) == body
    assert kind.decode_body(body) == message


@each_message
@settings(THOROUGH, max_examples=100)
@given(data=st.data(), noise=st.binary(max_size=96))
def test_noise_after_a_true_header_is_judged_alike_by_both(
    kind: type[Message], data: st.DataObject, noise: bytes, codec_probe: CodecProbe
) -> None:
    # A header and half a message, then anything: this reaches groups and lengths that pure noise never does.
    encoded = data.draw(blocks(kind)).encode()
    cut = data.draw(st.integers(8, len(encoded)))
    bytes_in_question = encoded[:cut] + noise
    assert codec_probe.decode(bytes_in_question) == python_outcome(kind, bytes_in_question)
