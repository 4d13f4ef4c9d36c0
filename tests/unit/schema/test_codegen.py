# SPDX-License-Identifier: Apache-2.0
"""The generator on schemas that the product does not have: fields of later versions, and XML it must refuse."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from framegate.schema.errors import InvalidValue, Truncated, WrongBlockLength

from dev.codegen import emit_python, ir, model, sbe_tool
from dev.codegen.schemas import SchemaSource

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe"
    package="toy" id="77" version="3" byteOrder="littleEndian">
  <types>
    <composite name="messageHeader">
      <type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
      <type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/>
    </composite>
    <composite name="groupSizeEncoding">
      <type name="blockLength" primitiveType="uint16"/><type name="numInGroup" primitiveType="uint16"/>
    </composite>
    <type name="maybe" primitiveType="uint32" presence="optional" nullValue="4294967295"/>
    <enum name="Colour" encodingType="uint8">
      <validValue name="RED">0</validValue><validValue name="BLUE">5</validValue>
    </enum>
  </types>
  <sbe:message name="Toy" id="1" description="A toy">
"""
TAIL = "  </sbe:message>\n</sbe:messageSchema>\n"
GROWN = """
    <field name="first" id="1" type="uint16"/>
    <field name="second" id="2" type="maybe" sinceVersion="2"/>
    <field name="colour" id="3" type="Colour" presence="optional" sinceVersion="3"/>
"""


def _schema(fields: str, folder: Path) -> model.Schema:
    xml = folder / "toy.xml"
    xml.write_text(HEAD + fields + TAIL)
    return model.build(ir.parse(sbe_tool.write_ir(xml, folder / "ir").read_bytes()))


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module that is generated for a schema whose message grew twice."""
    source = SchemaSource("toy", 77, "toy", is_newer_version_readable=True)
    text = emit_python.emit(_schema(GROWN, tmp_path_factory.mktemp("toy")), source)
    # Dataclasses look their module up by name.
    module = sys.modules["generated_toy"] = ModuleType("generated_toy")
    exec(compile(text, "generated_toy.py", "exec"), module.__dict__)  # noqa: S102 (it is our own output)
    yield module
    del sys.modules["generated_toy"]


def _bytes(version: int, body: str) -> bytes:
    data = bytes.fromhex(body)
    return len(data).to_bytes(2, "little") + bytes.fromhex("01004d00") + version.to_bytes(2, "little") + data


@pytest.mark.parametrize(
    ("version", "body", "second", "colour"),
    [
        (0, "0700", None, None),
        (1, "0700", None, None),
        (2, "070009000000", 9, None),
        (2, "0700ffffffff", None, None),
        (3, "07000900000005", 9, 5),
        (3, "070009000000ff", 9, None),
        (4, "07000900000000aabb", 9, 0),
    ],
)
def test_fields_that_the_sender_did_not_know_are_none(
    toy: Any, version: int, body: str, second: int | None, colour: int | None
) -> None:
    assert toy.Toy.decode(_bytes(version, body)) == toy.Toy(first=7, second=second, colour=colour)


@pytest.mark.parametrize(
    ("version", "body"), [(1, "070009000000"), (2, "0700"), (2, "07000900000000"), (3, "0700"), (4, "0700")]
)
def test_block_must_have_the_length_of_its_version(toy: Any, version: int, body: str) -> None:
    with pytest.raises(WrongBlockLength):
        toy.Toy.decode(_bytes(version, body))


def test_older_block_that_is_cut_is_truncated_and_its_bytes_are_not_taken_for_later_fields(toy: Any) -> None:
    with pytest.raises(Truncated):
        toy.Toy.decode(_bytes(2, "070009000000")[:-1])
    # Behind the short block lies 05, which the decoder must not read as the colour.
    assert toy.Toy.decode(_bytes(2, "070009000000") + b"\x05").colour is None


def test_unknown_enum_of_a_later_field_is_refused(toy: Any) -> None:
    with pytest.raises(InvalidValue):
        toy.Toy.decode(_bytes(3, "07000900000003"))


LATE = 'sinceVersion="2"'
BYTE = '<field name="a" id="2" type="uint8"/>'


def _group(content: str, name: str = "g", extra: str = "") -> str:
    return f'<group name="{name}" id="1" dimensionType="groupSizeEncoding" {extra}>{content}</group>'


@pytest.mark.parametrize(
    "fields",
    [
        f'<field name="late" id="1" type="uint16" {LATE}/>',
        '<field name="a" id="1" type="uint16"/><field name="b" id="2" type="uint16" offset="8"/>',
        _group(BYTE + _group(BYTE, name="h")),
        _group(f'<field name="a" id="2" type="maybe" {LATE}/>'),
        _group(BYTE, extra=LATE),
    ],
    ids=["required-later-field", "gap", "nested-group", "later-field-in-group", "later-group"],
)
def test_what_the_emitters_do_not_know_is_refused(fields: str, tmp_path: Path) -> None:
    with pytest.raises(model.UnsupportedSchema):
        _schema(fields, tmp_path)


def test_the_tools_refusal_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(sbe_tool.ToolRefused, match="nonsense"):
        _schema('<field name="a" id="1" type="nonsense"/>', tmp_path)


def test_cut_intermediate_file_is_refused(tmp_path: Path) -> None:
    xml = tmp_path / "toy.xml"
    xml.write_text(HEAD + GROWN + TAIL)
    data = sbe_tool.write_ir(xml, tmp_path / "ir").read_bytes()
    assert len(ir.parse(data).tokens) > 10
    for length in (0, 11, len(data) - 1, len(data) // 2):
        with pytest.raises((struct.error, ValueError)):
            ir.parse(data[:length])
