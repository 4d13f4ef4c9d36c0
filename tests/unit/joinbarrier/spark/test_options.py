# SPDX-License-Identifier: Apache-2.0
"""Options of the Spark source: what each may be, and that each mistake has a text of its own."""

from __future__ import annotations

import pytest
from framegate.joinbarrier.spark.options import NAMES, SourceOptions
from framegate.schema.errors import (
    ConflictingOptions,
    EndpointRefused,
    FramegateError,
    MissingOption,
    UnknownOption,
    WrongOption,
)


def parse(**given: str) -> SourceOptions:
    return SourceOptions.parse({"path": "a", **given})


def test_without_further_options_everything_has_its_default() -> None:
    assert parse() == SourceOptions(
        paths=("a",),
        reader_name=None,
        starting_offsets=None,
        ending_offsets=None,
        fail_on_data_loss=True,
        rows_per_trigger_max=None,
        bytes_per_trigger_max=256 << 20,
        partitions_min=None,
        payload="value",
        table="rows",
        is_aligned=False,
        access=None,
    )


OF_ENDPOINTS = {"tokenFile": "t", "caFile": "c", "tlsName": "n", "endpointTimeout": "7", "forceFlight": "true"}


def behind(**given: str) -> SourceOptions:
    return SourceOptions.parse({"endpoint": "grpc://rig-7:7443", **given})


@pytest.mark.parametrize("name", OF_ENDPOINTS)
def test_how_a_server_is_asked_is_said_with_its_address_only(name: str) -> None:
    value = OF_ENDPOINTS[name]
    assert behind(**{name.lower(): value}) == behind(**{name.upper(): value}) != behind()
    with pytest.raises(ConflictingOptions, match=f"path,{name}"):
        parse(**{name: value})


def test_several_servers_are_separated_by_commas_and_written_one_way() -> None:
    found = SourceOptions.parse({"endpoint": "grpc://a:1, grpc+tcp://b:2/data/joined"})
    assert found.paths == ("grpc://a:1", "grpc://b:2/data/joined")
    with pytest.raises(WrongOption, match="named twice"):
        SourceOptions.parse({"endpoint": "grpc://a:1,grpc+tcp://a:1"})
    with pytest.raises(MissingOption):
        SourceOptions.parse({"endpoint": " , "})
    with pytest.raises(EndpointRefused):
        SourceOptions.parse({"endpoint": "rig-7"})


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("0.5s", 0.5), ("30 S", 30.0)])
def test_times_are_seconds(text: str, seconds: float) -> None:
    access = behind(endpointTimeout=text).access
    assert access is not None
    assert access.timeout_s == seconds
    for broken in ("0", "-1", "1e9", "3601", "soon", "nan"):
        with pytest.raises(WrongOption, match="endpointTimeout"):
            behind(endpointTimeout=broken)


def test_a_reference_leads_to_no_other_host() -> None:
    with pytest.raises(ConflictingOptions, match="endpoint,payload"):
        behind(payload="reference")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("path", "endpoint", *OF_ENDPOINTS)])
def test_names_are_taken_in_any_case(name: str) -> None:
    values = {"payload": "none", "table": "unmatched", "failOnDataLoss": "false", "alignToCheckpoints": "true"}
    value = values.get(name, "7")
    assert parse(**{name.lower(): value}) == parse(**{name.upper(): value})
    assert parse(**{name.lower(): value}) != parse()


def test_several_paths_are_separated_by_commas_or_come_from_load() -> None:
    assert SourceOptions.parse({"path": " a , /b/c"}).paths == ("a", "/b/c")
    assert SourceOptions.parse({"paths": '["a", "b"]'}).paths == ("a", "b")


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("64m", 64 << 20), ("2 GB", 2 << 30), ("3kib", 3 << 10), ("1T", 1 << 40)]
)
def test_sizes_have_units(text: str, size: int) -> None:
    assert parse(maxBytesPerTrigger=text).bytes_per_trigger_max == size


MISTAKES = {
    "an unknown name": (UnknownOption, {"maxRows": "1"}, "option=maxRows nearest=maxRowsPerTrigger"),
    "no journal": (MissingOption, {"path": " , "}, "option=path: there is nothing to read"),
    "a journal twice": (WrongOption, {"path": "a,a"}, "option=path have=a,a: a journal is named twice"),
    "another host": (ConflictingOptions, {"endpoint": "grpc://h:1"}, "options=path,endpoint"),
    "a bad reader": (WrongOption, {"readerName": "a/b"}, "option=readerName have=a/b"),
    "a bad switch": (WrongOption, {"failOnDataLoss": "perhaps"}, "have=perhaps want=true|false"),
    "no rows": (WrongOption, {"maxRowsPerTrigger": "0"}, "option=maxRowsPerTrigger have=0: not a number of at least 1"),
    "half a row": (WrongOption, {"minPartitions": "1.5"}, "option=minPartitions have=1.5"),
    "no bytes": (WrongOption, {"maxBytesPerTrigger": "0m"}, "have=0m want=such as 64m or 1g: not a size"),
    "words for bytes": (WrongOption, {"maxBytesPerTrigger": "many"}, "have=many"),
    "an unknown payload": (WrongOption, {"payload": "pointer"}, "have=pointer want=value|reference|none"),
    "an unknown table": (WrongOption, {"table": "all"}, "have=all want=rows|unmatched"),
    "a reader of unmatched": (
        ConflictingOptions,
        {"table": "unmatched", "readerName": "a"},
        "options=table,readerName",
    ),
    "aligned unmatched": (
        ConflictingOptions,
        {"table": "unmatched", "alignToCheckpoints": "true"},
        "options=table,alignToCheckpoints",
    ),
    "payloads of unmatched": (ConflictingOptions, {"table": "unmatched", "payload": "none"}, "options=table,payload"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_has_its_own_text(mistake: str) -> None:
    kind, given, text = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        parse(**given)
    assert type(caught.value) is kind
    assert text in str(caught.value).splitlines()[0]


def test_no_two_mistakes_read_alike() -> None:
    texts = list[str]()
    for kind, given, _ in MISTAKES.values():
        with pytest.raises(kind) as caught:
            parse(**given)
        assert isinstance(caught.value, FramegateError)
        texts.append(str(caught.value))
    assert len(set(texts)) == len(texts)


def test_a_stream_has_no_end_and_needs_a_name_for_references() -> None:
    parse().check_streaming()
    parse(payload="reference", readerName="a").check_streaming()
    with pytest.raises(ConflictingOptions, match="does not end"):
        parse(endingOffsets="latest").check_streaming()
    with pytest.raises(ConflictingOptions, match="payload,readerName"):
        parse(payload="reference").check_streaming()
