# SPDX-License-Identifier: Apache-2.0
"""Versions and block lengths: 900 and 920 skip what a newer sender appended, 901 and 903 refuse a newer sender."""

from __future__ import annotations

import struct

import pytest
from framegate.schema import Message
from framegate.schema.errors import UnsupportedVersion, WrongBlockLength

from tests.codec_probe import CodecProbe, Outcome, python_outcome
from tests.vectors.golden import VECTORS, Vector

MESSAGES = [vector for vector in VECTORS if not vector.is_body]
TOLERANT = [vector for vector in MESSAGES if vector.kind.SCHEMA_ID in (900, 920)]
STRICT = [vector for vector in MESSAGES if vector.kind.SCHEMA_ID in (901, 903)]


def _with(vector: Vector, version: int, extra: int) -> bytes:
    """The vector as a sender of another version with a longer or shorter block would send it."""
    block = vector.kind.BLOCK_LENGTH
    header = struct.pack("<HHHH", block + extra, vector.kind.TEMPLATE_ID, vector.kind.SCHEMA_ID, version)
    fixed = vector.data[8 : 8 + block]
    return header + (fixed + b"\x5a" * extra if extra >= 0 else fixed[:extra]) + vector.data[8 + block :]


def _both(kind: type[Message], data: bytes, probe: CodecProbe) -> Outcome:
    python = python_outcome(kind, data)
    assert probe.decode(data) == python
    return python


def test_all_four_schemas_are_covered() -> None:
    assert {vector.kind.SCHEMA_ID for vector in TOLERANT} == {900, 920}
    assert {vector.kind.SCHEMA_ID for vector in STRICT} == {901, 903}


@pytest.mark.parametrize("vector", TOLERANT, ids=str)
@pytest.mark.parametrize("version", [2, 65535])
@pytest.mark.parametrize("extra", [0, 1, 100])
def test_newer_version_is_read_and_its_tail_skipped(
    vector: Vector, version: int, extra: int, codec_probe: CodecProbe
) -> None:
    data = _with(vector, version, extra)
    assert vector.kind.decode(data) == vector.message
    assert _both(vector.kind, data, codec_probe) == python_outcome(vector.kind, vector.data)


@pytest.mark.parametrize("vector", TOLERANT, ids=str)
def test_newer_version_with_a_shorter_block_has_the_wrong_length(vector: Vector, codec_probe: CodecProbe) -> None:
    assert _both(vector.kind, _with(vector, 2, -1), codec_probe) == WrongBlockLength.code


@pytest.mark.parametrize("vector", STRICT, ids=str)
@pytest.mark.parametrize("extra", [-1, 0, 8])
def test_newer_version_is_refused_whatever_its_length(vector: Vector, extra: int, codec_probe: CodecProbe) -> None:
    assert _both(vector.kind, _with(vector, 2, extra), codec_probe) == UnsupportedVersion.code


@pytest.mark.parametrize("vector", MESSAGES, ids=str)
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("extra", [-1, 1])
def test_same_or_older_version_needs_exactly_its_length(
    vector: Vector, version: int, extra: int, codec_probe: CodecProbe
) -> None:
    assert _both(vector.kind, _with(vector, version, extra), codec_probe) == WrongBlockLength.code


@pytest.mark.parametrize("vector", MESSAGES, ids=str)
def test_older_version_with_the_same_fields_is_read(vector: Vector, codec_probe: CodecProbe) -> None:
    # No field came after version 0 of these schemas.
    assert vector.kind.decode(_with(vector, 0, 0)) == vector.message
    assert _both(vector.kind, _with(vector, 0, 0), codec_probe) == python_outcome(vector.kind, vector.data)


def test_refused_version_says_what_is_supported() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        STRICT[0].kind.decode(_with(STRICT[0], 3, 0))
    assert caught.value.facts == {"schema": STRICT[0].kind.SCHEMA_ID, "supported": 1, "found": 3}
