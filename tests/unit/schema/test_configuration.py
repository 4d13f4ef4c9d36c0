# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""Every kind of configuration mistake is refused with the exact place where it was made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import pytest
from framegate.schema.config.layers import Layers, Variable
from framegate.schema.config.loading import Given, load
from framegate.schema.config.toml_file import TomlFile
from framegate.schema.config.types import (
    U32,
    Directory,
    EnvironmentName,
    FileMode,
    Name,
    OptionalIdRange,
    PowerOfTwo,
    Section,
    Size,
)
from framegate.schema.errors import (
    ConfigurationError,
    FileMissing,
    InvalidToml,
    MissingKey,
    UnknownKey,
    WrongType,
)
from pydantic import Field

_Kind = TypeVar("_Kind", bound=ConfigurationError)


class Join(Section):
    out_stream: U32 = 20001
    policy: Literal["sequence", "latest"] = "sequence"
    journal: Annotated[str, EnvironmentName("JOURNAL_DIR")] = "out"
    serve: bool = True
    ratio: float = 1.0
    ids: OptionalIdRange = None
    bases: list[Directory] = Field(default_factory=list)
    max_bytes: Size = 0
    slots: PowerOfTwo = 128
    mode: FileMode = "600"
    namespace: Name = "default"
    secret_token: str = ""


class Input(Section):
    name: str
    stream: U32
    offset: int = 0


class Stream(Section):
    # Two keys of which one ends like the other: a variable must mean the longer one.
    id: int = 0
    stream_id: U32
    offset: int = 0


class Config(Section):
    join: Join = Field(default_factory=Join)
    input: list[Input] = Field(default_factory=list)
    streams: dict[str, Stream] = Field(default_factory=dict)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "join.toml"


def loaded(
    file: Path, text: str, environment: Mapping[str, str] | None = None, overrides: Mapping[str, Given] | None = None
) -> Config:
    file.write_text(text, encoding="utf-8")
    return load(Config, file, environment or {}, overrides or {})


def refused(kind: type[_Kind], file: Path, text: str, environment: Mapping[str, str] | None = None) -> _Kind:
    with pytest.raises(kind) as caught:
        loaded(file, text, environment)
    assert type(caught.value) is kind
    return caught.value


def place(error: ConfigurationError) -> str:
    return f"{Path(str(error.facts['file'])).name}:{error.facts['line']}:{error.facts['column']}"


def test_unknown_key_names_its_place_and_the_nearest_key(toml: Path) -> None:
    error = refused(UnknownKey, toml, '[join]\npolicy = "latest"\n  journel = "x"\n')
    assert place(error) == "join.toml:3:3"
    assert error.facts["key"] == "join.journel"
    assert error.facts["nearest"] == "journal"
    assert "journal" in str(error).splitlines()[0]


def test_unknown_table_is_an_unknown_key(toml: Path) -> None:
    error = refused(UnknownKey, toml, "[jion]\nx = 1\n")
    assert (place(error), error.facts["nearest"]) == ("join.toml:1:2", "join")


def test_a_known_key_in_the_wrong_table_is_pointed_to_the_right_one(toml: Path) -> None:
    error = refused(UnknownKey, toml, "[join]\nstream_id = 1\n")
    assert error.facts["nearest"] == "streams.NAME.stream_id"


def test_unknown_key_in_an_inline_table_and_in_a_dotted_key(toml: Path) -> None:
    inline = refused(UnknownKey, toml, 'input = [{ name = "a", stream = 1 },\n         { name = "b", strem = 2 }]\n')
    assert (place(inline), inline.facts["key"]) == ("join.toml:2:24", "input[1].strem")
    dotted = refused(UnknownKey, toml, "\njoin.serv = true\n")
    assert (place(dotted), dotted.facts["nearest"]) == ("join.toml:2:6", "serve")


def test_the_same_key_in_two_tables_points_at_the_wrong_one_of_them(toml: Path) -> None:
    text = '[[input]]\nname = "a"\nstream = 1\noffset = 0\n\n[streams.x]\nstream_id = 1\noffset = "late"\n'
    error = refused(WrongType, toml, text)
    assert (place(error), error.facts["key"]) == ("join.toml:8:10", "streams.x.offset")


def test_wrong_type_in_the_second_input_names_that_line(toml: Path) -> None:
    text = '[[input]]\nname = "a"\nstream = 1\n\n[[input]]\nname = "b"\nstream = "2"\n'
    error = refused(WrongType, toml, text)
    assert (place(error), error.facts["key"]) == ("join.toml:7:10", "input[1].stream")
    assert (error.facts["wanted"], error.facts["found"]) == ("an integer", '"2"')


@pytest.mark.parametrize(
    ("line", "wanted", "found"),
    [
        ("out_stream = 4294967296", "4294967295 or less", "4294967296"),
        ("out_stream = -1", "0 or more", "-1"),
        ("out_stream = 1.0", "an integer", "1.0"),
        ("out_stream = true", "an integer", "true"),
        ('policy = "newest"', "'sequence' or 'latest'", '"newest"'),
        ("journal = 7", "text in quotes", "7"),
        ("journal = 2026-01-02", "text in quotes", '"2026-01-02"'),
        ('serve = "yes"', "true or false", '"yes"'),
        ("serve = 1", "true or false", "1"),
        ('ratio = "1"', "a number", '"1"'),
        ('bases = "/dev/shm"', "an array", '"/dev/shm"'),
        ('ids = "9-3"', "a range whose first id is not above its last, within 0-4294967295", '"9-3"'),
        ("ids = [1, 2, 3]", 'a range "first-last" or [first, last] of stream ids', "[1, 2, 3]"),
        ("ids = [true, 2]", 'a range "first-last" or [first, last] of stream ids', "[true, 2]"),
        ('max_bytes = "1GB"', 'a number of bytes, or text such as "64KiB" or "1GiB"', '"1GB"'),
        ("slots = 100", "a power of two", "100"),
        ("slots = 0", "1 or more", "0"),
        (
            'mode = "060"',
            'an octal file mode such as "600" or "660" that lets the owner read and write, and others nothing',
            '"060"',
        ),
        (
            'mode = "200"',
            'an octal file mode such as "600" or "660" that lets the owner read and write, and others nothing',
            '"200"',
        ),
        ("mode = 600", "text in quotes", "600"),
        ('namespace = "../up"', "1 to 64 letters, digits, - and _", '"../up"'),
        ("secret_token = 12345", "text in quotes", "(a secret)"),
    ],
)
def test_wrong_type_or_range_names_wanted_and_found(toml: Path, line: str, wanted: str, found: str) -> None:
    error = refused(WrongType, toml, f"[join]\n{line}\n")
    assert place(error) == f"join.toml:2:{line.index('=') + 3}"
    assert (error.facts["wanted"], error.facts["found"]) == (wanted, found)


@pytest.mark.parametrize("path", ["relative", "/with space", "/a?b", "/a|b", "/ä"])
def test_directories_that_no_uri_could_carry_are_refused_at_their_element(toml: Path, path: str) -> None:
    error = refused(WrongType, toml, f'[join]\nbases = ["/ok",\n  "{path}"]\n')
    assert (place(error), error.facts["key"]) == ("join.toml:3:3", "join.bases[1]")


def test_a_value_in_place_of_a_table(toml: Path) -> None:
    error = refused(WrongType, toml, "# first\njoin = 3\n")
    assert (place(error), error.facts["wanted"]) == ("join.toml:2:8", "a table")


def test_a_value_in_place_of_a_table_is_still_refused_when_the_environment_sets_a_key_in_it(toml: Path) -> None:
    error = refused(WrongType, toml, "join = 3\n", {"FRAMEGATE_JOIN_OUT_STREAM": "1"})
    assert (place(error), error.facts["wanted"]) == ("join.toml:1:8", "a table")


def test_missing_key_points_at_its_table(toml: Path) -> None:
    error = refused(MissingKey, toml, '[[input]]\nname = "a"\nstream = 1\n[[input]]\nname = "b"\n')
    assert (place(error), error.facts["key"]) == ("join.toml:4:1", "input[1].stream")


def test_several_mistakes_give_the_first_of_the_file_and_the_number_of_others(toml: Path) -> None:
    text = '[streams.x]\nstream_id = "a"\n[join]\nserve = 1\nnope = 2\n'
    error = refused(WrongType, toml, text, {"FRAMEGATE_JOIN_OUT_STREAM": "many"})
    assert (place(error), error.facts["further"]) == ("join.toml:2:13", 3)
    alone = refused(WrongType, toml, "[join]\nserve = 1\n")
    assert "further" not in alone.facts


def test_text_that_is_not_toml(toml: Path) -> None:
    error = refused(InvalidToml, toml, "[join]\nserve = \n")
    assert place(error) == "join.toml:2:9"
    again = refused(InvalidToml, toml, "[join]\nserve = true\nserve = false\n")
    assert place(again) == "join.toml:3:1"


def test_a_leap_second_is_refused_and_never_taken_for_nothing(toml: Path) -> None:
    refused(InvalidToml, toml, "[join]\njournal = 2016-12-31T23:59:60Z\n")


def test_bytes_that_are_not_text(toml: Path) -> None:
    toml.write_bytes(b"[join]\njournal = '\xc3\xa4\xff'\n")
    with pytest.raises(InvalidToml) as caught:
        load(Config, toml, {}, {})
    assert place(caught.value) == "join.toml:2:13"


def test_a_file_that_is_missing_or_a_directory(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(FileMissing) as caught:
            load(Config, path, {}, {})
        assert caught.value.facts["file"] == str(path)


def test_command_line_beats_environment_beats_file_beats_default(toml: Path) -> None:
    text, environment = "[join]\nout_stream = 2\n", {"FRAMEGATE_JOIN_OUT_STREAM": "3"}
    override = {"join.out_stream": Given(4, "--out-stream")}
    assert loaded(toml, "").join.out_stream == 20001
    assert loaded(toml, text).join.out_stream == 2
    assert loaded(toml, text, environment).join.out_stream == 3
    assert loaded(toml, text, environment, override).join.out_stream == 4
    assert load(Config, None, environment, {"join.out_stream": None}).join.out_stream == 3


def test_the_environment_speaks_every_type() -> None:
    environment = {
        "FRAMEGATE_JOIN_SERVE": "false",
        "FRAMEGATE_JOIN_RATIO": "0.5",
        "FRAMEGATE_JOIN_JOURNAL": "123",
        "FRAMEGATE_JOIN_IDS": "5-9",
        "FRAMEGATE_JOIN_BASES": "/dev/shm, /mnt/x",
        "FRAMEGATE_JOIN_MAX_BYTES": "64MiB",
        "FRAMEGATE_JOIN_MODE": "640",
        "FRAMEGATE_INPUT": '[{name = "a", stream = 7}]',
    }
    config = load(Config, None, environment, {})
    assert (config.join.serve, config.join.ratio, config.join.journal) == (False, 0.5, "123")
    assert (str(config.join.ids), config.join.bases) == ("5-9", ["/dev/shm", "/mnt/x"])
    assert (config.join.max_bytes, config.join.mode) == (64 << 20, "640")
    assert config.input == [Input(name="a", stream=7)]


def test_named_tables_from_the_environment_meet_those_of_the_file(toml: Path) -> None:
    environment = {"FRAMEGATE_STREAMS_LEFT_CAM_STREAM_ID": "7", "FRAMEGATE_STREAMS_NEW_STREAM_ID": "8"}
    config = loaded(toml, "[streams.Left-Cam]\nstream_id = 1\noffset = 3\n", environment)
    assert config.streams == {"Left-Cam": Stream(stream_id=7, offset=3), "new": Stream(stream_id=8)}


def test_a_short_variable_counts_less_than_the_full_name() -> None:
    short = {"FRAMEGATE_JOURNAL_DIR": "short"}
    assert load(Config, None, short, {}).join.journal == "short"
    assert load(Config, None, {**short, "FRAMEGATE_JOIN_JOURNAL": "full"}, {}).join.journal == "full"


def test_an_empty_variable_is_not_set(toml: Path) -> None:
    assert loaded(toml, "[join]\nout_stream = 2\n", {"FRAMEGATE_JOIN_OUT_STREAM": ""}).join.out_stream == 2


def test_a_wrong_variable_is_named_and_no_file_is(toml: Path) -> None:
    error = refused(WrongType, toml, "[join]\nout_stream = 2\n", {"FRAMEGATE_JOIN_OUT_STREAM": "many"})
    assert error.facts["variable"] == "FRAMEGATE_JOIN_OUT_STREAM"
    assert (error.facts["found"], "file" in error.facts) == ('"many"', False)


def test_a_variable_that_replaces_an_array_takes_the_blame_for_its_elements(toml: Path) -> None:
    environment = {"FRAMEGATE_INPUT": '[{name = "a", stream = "x"}]'}
    error = refused(WrongType, toml, '[[input]]\nname = "a"\nstream = 1\n', environment)
    assert (error.facts["variable"], error.facts["key"]) == ("FRAMEGATE_INPUT", "input[0].stream")


def test_a_mistyped_variable_is_refused_and_foreign_ones_are_not() -> None:
    with pytest.raises(UnknownKey) as caught:
        load(Config, None, {"FRAMEGATE_JOIN_OUT_STRAEM": "1"}, {})
    assert caught.value.facts["variable"] == "FRAMEGATE_JOIN_OUT_STRAEM"
    assert caught.value.facts["nearest"] == "FRAMEGATE_JOIN_OUT_STREAM"
    load(Config, None, {"FRAMEGATE_LOG": "debug", "FRAMEGATE_MEDIA_DRIVER": "/x", "JOIN_OUT_STREAM": "x"}, {})


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(WrongType) as caught:
        load(Config, None, {}, {"join.slots": Given(100, "--slots")})
    assert (caught.value.facts["option"], caught.value.facts["key"]) == ("--slots", "join.slots")


def test_another_prefix() -> None:
    assert load(Config, None, {"JOIN_OUT_STREAM": "5"}, {}, env_prefix="").join.out_stream == 5


def test_laying_values_over_a_file_leaves_the_file_as_it_was() -> None:
    file = TomlFile("f.toml", {"join": {"out_stream": 2}}, {})
    layers = Layers(file)
    layers.put(("join", "out_stream"), 3, Variable("X"))
    assert (layers.values, file.values) == ({"join": {"out_stream": 3}}, {"join": {"out_stream": 2}})
