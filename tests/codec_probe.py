# SPDX-License-Identifier: Apache-2.0
"""The Rust codecs as a program to ask, so that a test can compare them with the Python ones.

The program is built by the session that asks first; how it is spoken to stands in native/codecs/src/bin/codec-probe.rs.
"""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from framegate.schema import Message, decode_any
from framegate.schema.errors import MessageError
from framegate.schema.layout import Block, Data, Field, Group

ROOT: Final = Path(__file__).resolve().parents[1]
MANIFEST: Final = ROOT / "native/Cargo.toml"
PACKAGE: Final = ["-p", "framegate-codecs", "--features", "probe", "--bin", "codec-probe"]

# What a codec made of some bytes: the message's name and values, or the number of the error.
Outcome = tuple[str, dict[str, Any]] | int


class CodecProbe:
    """One running probe; a question and its answer at a time."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def close(self) -> None:
        """Ends the program, which must not have died before."""
        self._process.communicate()
        assert self._process.returncode == 0

    def decode(self, message: bytes) -> Outcome:
        """What Rust reads from a message with its header."""
        return _outcome(self._ask(b"d" + message))

    def decode_body(self, kind: type[Message], body: bytes) -> Outcome:
        """What Rust reads from a body without a header."""
        return _outcome(self._ask(b"b" + struct.pack("<HH", kind.SCHEMA_ID, kind.TEMPLATE_ID) + body))

    def encode(self, name: str, values: dict[str, Any]) -> bytes | int:
        """What Rust writes for these values."""
        return _bytes(self._ask(b"e" + json.dumps({"message": name, "values": values}).encode()))

    def encode_body(self, name: str, values: dict[str, Any]) -> bytes | int:
        """What Rust writes for these values, without the header."""
        return _bytes(self._ask(b"c" + json.dumps({"message": name, "values": values}).encode()))

    def _ask(self, request: bytes) -> dict[str, Any]:
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        questions.write(struct.pack("<I", len(request)) + request)
        questions.flush()
        length = answers.read(4)
        assert len(length) == 4, "the probe died: a Rust codec has panicked"
        answer: dict[str, Any] = json.loads(answers.read(*struct.unpack("<I", length)))
        assert answer.get("code") != 0, f"the probe did not understand: {answer}"
        return answer


def _outcome(answer: dict[str, Any]) -> Outcome:
    return int(answer["code"]) if "code" in answer else (answer["message"], answer["values"])


def _bytes(answer: dict[str, Any]) -> bytes | int:
    return int(answer["code"]) if "code" in answer else bytes.fromhex(answer["hex"])


def python_outcome(kind: type[Message], data: bytes, *, is_body: bool = False) -> Outcome:
    """What the Python codec makes of the same bytes. Anything but a MessageError is a failure of the test."""
    try:
        message = kind.decode_body(data) if is_body else kind.decode(data)
    except MessageError as error:
        return error.code
    return kind.__name__, as_values(message)


def any_outcome(data: bytes) -> Outcome:
    """What decode_any makes of the bytes; like the probe, it finds the class by the header."""
    try:
        message = decode_any(data)
    except MessageError as error:
        return error.code
    return type(message).__name__, as_values(message)


def as_values(block: Block) -> dict[str, Any]:
    """A message as the probe writes it: enums as numbers, bytes as hex."""
    return {part.name: _value(part, getattr(block, part.name)) for part in type(block).LAYOUT}


def _value(part: Field | Group | Data, value: Any) -> Any:
    if isinstance(part, Group):
        return [as_values(entry) for entry in value]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, int) else value


@pytest.fixture(scope="session")
def codec_probe() -> Iterator[CodecProbe]:
    """The probe, built from the sources as they are now."""
    build = ["cargo", "build", "--locked", "--quiet", *PACKAGE, "--manifest-path", str(MANIFEST)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the codec probe does not build:\n{done.stderr}"
    probe = CodecProbe(MANIFEST.parent / "target/debug/codec-probe")
    yield probe
    probe.close()
