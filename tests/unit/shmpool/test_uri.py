# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is opened
"""The grammar of a region's URI (PROTOCOL 6.1): what is followed, and what is refused with its reason."""

from __future__ import annotations

import string
from typing import Final

import pytest
from framegate.schema.errors import UriRefused
from framegate.shmpool.layout.uri import RegionUri
from hypothesis import given
from hypothesis import strategies as st

PATH_CHARACTERS: Final = "".join(sorted(set(string.printable) - set(string.whitespace) - set("?|")))

ACCEPTED: Final = {
    "shm:file?path=/dev/shm/a/header.ring": RegionUri("/dev/shm/a/header.ring"),
    "shm:file?path=/dev/hugepages/a|require_hugepages=true": RegionUri("/dev/hugepages/a", require_hugepages=True),
    "shm:file?path=/a|require_hugepages=false": RegionUri("/a"),
    # The vertical bar alone separates: this is a path, and asks for no huge pages.
    "shm:file?path=/a&require_hugepages=true": RegionUri("/a&require_hugepages=true"),
    "shm:file?path=/a=b,c;d#e%20": RegionUri("/a=b,c;d#e%20"),
    "shm:file?path=/": RegionUri("/"),
    f"shm:file?path=/{PATH_CHARACTERS}": RegionUri(f"/{PATH_CHARACTERS}"),
}
REFUSED: Final = {
    "relative": "shm:file?path=relative/x",
    "dot": "shm:file?path=./x",
    "no path": "shm:file?require_hugepages=true",
    "empty path": "shm:file?path=",
    "nothing": "shm:file?",
    "name without value": "shm:file?path",
    "unknown parameter": "shm:file?path=/a|mode=rw",
    "unknown parameter behind": "shm:file?path=/a|require_hugepages=true|mode=rw",
    "one for true": "shm:file?path=/a|require_hugepages=1",
    "True": "shm:file?path=/a|require_hugepages=True",
    "no truth": "shm:file?path=/a|require_hugepages=",
    "no value": "shm:file?path=/a|require_hugepages",
    "path behind": "shm:file?require_hugepages=true|path=/a",
    "path twice": "shm:file?path=/a|path=/b",
    "huge pages twice": "shm:file?path=/a|require_hugepages=true|require_hugepages=true",
    "bar at the end": "shm:file?path=/a|",
    "prefix of a name": "shm:file?p=/a",
    "prefix of the other name": "shm:file?path=/a|require=true",
    "space": "shm:file?path=/a b",
    "space before": "shm:file?path= /a",
    "space behind": "shm:file?path=/a ",
    "line end": "shm:file?path=/a\n",
    "NUL": "shm:file?path=/a\0",
    "control character": "shm:file?path=/a\x7f",
    "not ASCII": "shm:file?path=/ä",
    "question mark": "shm:file?path=/a?b",
    "two question marks": "shm:file??path=/a",
    "memfd": "memfd:file?path=/a",
    "posix": "shm:posix?path=/a",
    "upper case": "SHM:FILE?path=/a",
    "no scheme": "/dev/shm/a",
    "empty": "",
    "two slashes": "shm://file?path=/a",
    "longer scheme": "shm:files?path=/a",
    "something before": " shm:file?path=/a",
    "aeron": "aeron:ipc?path=/a",
}


@pytest.mark.parametrize(("text", "wanted"), ACCEPTED.items(), ids=list(ACCEPTED))
def test_what_the_grammar_allows_is_read(text: str, wanted: RegionUri) -> None:
    assert RegionUri.parse(text) == wanted


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED))
def test_what_lies_outside_the_grammar_is_refused_and_named(text: str) -> None:
    with pytest.raises(UriRefused) as caught:
        RegionUri.parse(text)
    assert caught.value.facts["uri"] == text


@given(path=st.text(PATH_CHARACTERS).map("/{}".format), require_hugepages=st.booleans())
def test_what_is_written_is_read_back(path: str, require_hugepages: bool) -> None:
    uri = RegionUri(path, require_hugepages)
    assert RegionUri.parse(str(uri)) == uri


@given(text=st.text() | st.text("shm:file?path=/|require_hugepages=truefals& ").map("shm:file?path=/{}".format))
def test_any_text_gives_a_uri_that_reads_back_or_is_refused(text: str) -> None:
    try:
        uri = RegionUri.parse(text)
    except UriRefused:
        return
    assert uri.path.startswith("/")
    assert not set(uri.path) - set(PATH_CHARACTERS)
    assert RegionUri.parse(str(uri)) == uri
