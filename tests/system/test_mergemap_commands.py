# SPDX-License-Identifier: Apache-2.0
"""``framegate mergemap``: an authority, stages and onlookers as processes of their own, over a real media driver."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from framegate.driver.mediadriver import MediaDriver
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule
from framegate.schema import decode_any
from framegate.schema.codec import HEADER
from framegate.schema.merge import MergeRuleType, SequenceMergeMapAnnounce, SequenceMergeMapRequest
from framegate.shmpool.transport.aeron import AeronTransport

if TYPE_CHECKING:
    from tests.system.conftest import Program, System

CHANNEL = "aeron:ipc?term-length=4m"
CONTROL = 1000
OUT = 20001
LEFT = '[[input]]\nname = "left"\nstream = 10001\n'
RIGHT = '[[input]]\nname = "right"\nstream = 10002\n'
BY_SEQ = f"[join]\nout_stream = {OUT}\n[mergemap]\nepoch = 3\nannounce_ms = 50\n{LEFT}{RIGHT}offset = -2\n"
BY_TIME = f"""
[join]
out_stream = 20002
policy = "timestamp"
[mergemap]
lateness_ns = 7
{LEFT}offset_ns = 0
{RIGHT}window_ns = 900
"""
SELDOM = BY_SEQ.replace("announce_ms = 50", "announce_ms = 3_600_000")
"""Announced at the start and after an hour: what comes between is an answer."""
THE_MAP = MergeMap(OUT, 3, [SequenceRule(10001, offset=0), SequenceRule(10002, offset=-2)])
AS_JSON = {
    "out_stream": OUT,
    "out_name": None,
    "epoch": 3,
    "kind": "sequence",
    "stale_timeout_ns": None,
    "clock_domain": None,
    "lateness_ns": 0,
    "rules": [
        {"stream": 10001, "offset": 0, "window": None, "name": None},
        {"stream": 10002, "offset": -2, "window": None, "name": None},
    ],
}


class Maps:
    """Starts the three commands with a live media driver."""

    def __init__(self, system: System, aeron_dir: str, folder: Path) -> None:
        self.system = system
        self._folder = folder
        self._places = ("--aeron-dir", aeron_dir)

    def file(self, text: str, name: str = "join.toml") -> str:
        path = self._folder / name
        path.write_text(text)
        return str(path)

    def run(self, *words: str) -> Program:
        return self.system.framegate("mergemap", *words, *self._places)

    def serve(self, *texts: str, more: tuple[str, ...] = ()) -> Program:
        """An authority that is ready."""
        files = [self.file(text, f"{index}.toml") for index, text in enumerate(texts)]
        configs = [word for file in files for word in ("--config", file)]
        authority = self.run("serve", *configs, "--json", *more)
        authority.says(event="ready")
        return authority


@pytest.fixture
def maps(media_driver: MediaDriver, system: System, tmp_path: Path) -> Maps:
    return Maps(system, media_driver.aeron_dir, tmp_path)


@pytest.fixture
def transport(media_driver: MediaDriver) -> Iterator[AeronTransport]:
    with AeronTransport(media_driver.aeron_dir) as transport:
        yield transport


def only_object(program: Program) -> dict[str, Any]:
    (found,) = program.objects()
    return found


def test_a_request_is_answered_with_the_map_of_the_file(maps: Maps) -> None:
    authority = maps.serve(BY_SEQ)
    assert authority.objects()[0]["maps"] == [AS_JSON]
    asks = maps.run("request", "--out-stream", str(OUT), "--epoch", "3", "--json")
    assert asks.wait() == 0, asks
    assert only_object(asks) == {"event": "map", **AS_JSON}


def test_one_authority_serves_several_outputs_of_both_kinds(maps: Maps) -> None:
    authority = maps.serve(BY_SEQ, BY_TIME, more=("--epoch", "9"))
    assert [each["epoch"] for each in authority.objects()[0]["maps"]] == [9, 9]
    asks = maps.run("request", "--out-stream", "20002", "--epoch", "9", "--timestamp")
    assert asks.wait() == 0, asks
    shown = "10001 OFFSET_NS 0 ns, 10002 WINDOW_NS 900 ns, clock monotonic, lateness 7 ns"
    assert asks.stdout == f"output 20002, epoch 9: {shown}\n"


def test_ended_by_a_signal_it_says_what_it_did(maps: Maps) -> None:
    authority = maps.serve(SELDOM)
    asks = maps.run("request", "--out-stream", str(OUT), "--epoch", "3")
    assert asks.wait() == 0, asks
    authority.send(signal.SIGINT)
    assert authority.wait() == 0, authority
    summary = authority.objects()[-1]
    assert (summary["event"], summary["maps"]) == ("summary", 1)
    assert (summary["announces"], summary["answers"] >= 1) == (1, True)
    assert authority.stderr == ""


def test_a_request_waits_for_an_authority_that_comes_later(maps: Maps) -> None:
    asks = maps.run("request", "--out-stream", str(OUT), "--epoch", "3", "--timeout", "60", "--json")
    waiting = maps.run("show", "--seconds", "0", "--json")
    assert waiting.wait() == 0, waiting
    maps.serve(BY_SEQ)
    assert asks.wait() == 0, asks
    assert only_object(asks)["epoch"] == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--out-stream", "20009", "--epoch", "3"),
        ("--out-stream", str(OUT), "--epoch", "3", "--timestamp"),
    ],
)
def test_another_output_or_kind_is_not_answered(maps: Maps, words: tuple[str, ...]) -> None:
    maps.serve(BY_SEQ)
    asks = maps.run("request", *words, "--timeout", "0.5", "--json")
    assert asks.wait() == 1, asks
    error = only_object(asks)
    assert (error["event"], error["code"], error["facts"]["out_stream"]) == ("error", 411, int(words[1]))


def test_rules_hold_in_every_epoch_of_their_output_and_the_one_asked_for_last_is_announced(maps: Maps) -> None:
    authority = maps.run("serve", maps.file(BY_SEQ), "--json")
    authority.says(event="ready")
    for epoch in (7, 4):
        asks = maps.run("request", "--out-stream", str(OUT), "--epoch", str(epoch), "--json")
        assert asks.wait() == 0, asks
        assert only_object(asks) == {"event": "map", **AS_JSON, "epoch": epoch}
    asks = maps.run("request", "--out-stream", str(OUT), "--json")
    assert asks.wait() == 0, asks
    assert only_object(asks) == {"event": "map", **AS_JSON, "epoch": 4}


def test_a_file_is_explained_without_a_driver(maps: Maps) -> None:
    late = BY_TIME.replace("lateness_ns = 7", "lateness_ns = 901")
    checks = maps.system.framegate("mergemap", "check", maps.file(late), "--json")
    assert checks.wait() == 0, checks
    told = only_object(checks)
    assert any("right (stream 10002): its newest frame from t - 900 ns to t" in line for line in told["joins"])
    (warning,) = told["warnings"]
    assert "lateness_ns (901 ns) is above window_ns of right (900 ns)" in warning


def test_a_stage_that_is_told_to_end_before_the_answer_came_has_failed(maps: Maps, transport: AeronTransport) -> None:
    hears = transport.add_subscription(CHANNEL, CONTROL)
    asks = maps.run("request", "--out-stream", str(OUT), "--epoch", "3", "--timeout", "60", "--json")
    asks.until(hears.poll, "asking")
    asks.send(signal.SIGINT)
    assert asks.wait() == 1, asks
    assert only_object(asks)["code"] == 998


def test_the_answer_to_a_foreign_client_has_the_bytes_of_the_protocol(maps: Maps, transport: AeronTransport) -> None:
    """Also the request that carries more than the two fields, which only the owner of schema 903 could have made."""
    hears = transport.add_subscription(CHANNEL, CONTROL)
    says = transport.add_publication(CHANNEL, CONTROL)
    authority = maps.serve(SELDOM)
    authority.until(lambda: [each for each in hears.poll() if each.data == THE_MAP.to_message().encode()], "announcing")
    plain = SequenceMergeMapRequest(out_stream_id=OUT, epoch=3).encode()
    longer = HEADER.pack(20, 2, 903, 1) + plain[8:] + b"eight by"
    for request in (plain, longer):
        assert says.offer(request) > 0
        answers: list[bytes] = []

        def answered(answers: list[bytes] = answers) -> bool:
            heard = [received.data for received in hears.poll(timeout_ns=10_000_000)]
            answers += [data for data in heard if HEADER.unpack_from(data)[1] == 1]
            return bool(answers)

        authority.until(answered, "answering")
        assert answers == [THE_MAP.to_message().encode()]


def test_two_authorities_of_one_output_hear_of_each_other_and_go_on(maps: Maps) -> None:
    """They share the host's media driver, and would share a session too if they shared the publication."""
    first = maps.serve(BY_SEQ)
    second = maps.serve(BY_SEQ.replace("offset = -2", "offset = -1"))
    ours, theirs = "10001 OFFSET 0, 10002 OFFSET -2", "10001 OFFSET 0, 10002 OFFSET -1"
    heard = first.says(event="conflict")
    assert (heard["code"], heard["facts"]["ours"], heard["facts"]["theirs"]) == (410, ours, theirs)
    heard = second.says(event="conflict")
    assert (heard["code"], heard["facts"]["ours"], heard["facts"]["theirs"]) == (410, theirs, ours)
    shows = maps.run("show", "--seconds", "1", "--json")
    assert shows.wait() == 0, shows
    found = [each for each in shows.objects() if each["event"] == "map"]
    assert {each["rules"][1]["offset"] for each in found} == {-1, -2}
    assert len({each["session"] for each in found}) == 2
    for authority in (first, second):
        authority.send(signal.SIGTERM)
        assert authority.wait() == 0, authority
        assert [each["event"] for each in authority.objects()] == ["ready", "conflict", "summary"]


def test_the_same_map_served_twice_is_a_conflict_too(maps: Maps) -> None:
    first, second = maps.serve(BY_SEQ), maps.serve(BY_SEQ)
    for each in (first, second):
        heard = each.says(event="conflict")
        assert heard["facts"]["ours"] == heard["facts"]["theirs"]


def test_show_prints_every_map_or_those_of_one_output(maps: Maps) -> None:
    maps.serve(BY_SEQ, BY_TIME.replace("lateness_ns", "announce_ms = 50\nlateness_ns"))
    shows = maps.run("show", "--seconds", "1", "--json")
    assert shows.wait() == 0, shows
    ready, *found, summary = shows.objects()
    assert (ready["event"], summary) == ("ready", {"event": "summary", "maps": 2})
    assert [(each["out_stream"], each["epoch"], each["kind"]) for each in found] == [
        (OUT, 3, "sequence"),
        (20002, 1, "timestamp"),
    ]
    shows = maps.run("show", "--seconds", "1", "--out-stream", str(OUT))
    assert shows.wait() == 0, shows
    (line,) = shows.stdout.splitlines()
    assert line.startswith(f"output {OUT}, epoch 3: 10001 OFFSET 0, 10002 OFFSET -2 (by ")


def test_show_of_an_output_that_nobody_announces_has_failed_and_of_nothing_has_not(maps: Maps) -> None:
    shows = maps.run("show", "--seconds", "0.1", "--out-stream", str(OUT), "--json")
    assert shows.wait() == 1, shows
    assert shows.objects()[-1]["code"] == 411
    shows = maps.run("show", "--seconds", "0.1")
    assert (shows.wait(), shows.stdout) == (0, "no map was announced\n")


def test_show_ended_by_a_signal_says_what_it_heard(maps: Maps) -> None:
    shows = maps.run("show", "--seconds", "3600", "--out-stream", str(OUT), "--json")
    shows.says(event="ready")
    shows.send(signal.SIGINT)
    assert shows.wait() == 0, shows
    assert shows.objects()[-1] == {"event": "summary", "maps": 0}


def test_an_invalid_map_is_shown_with_its_reason_and_refused_by_who_asked(
    maps: Maps, transport: AeronTransport
) -> None:
    rule = SequenceMergeMapAnnounce.Rule(input_stream_id=10001, rule_type=MergeRuleType.WINDOW, window_size=0)
    bad = SequenceMergeMapAnnounce(out_stream_id=OUT, epoch=3, rules=(rule,)).encode()
    hears, says = transport.add_subscription(CHANNEL, CONTROL), transport.add_publication(CHANNEL, CONTROL)
    asks = maps.run("request", "--out-stream", str(OUT), "--epoch", "3", "--timeout", "2", "--json")
    shows = maps.run("show", "--seconds", "3600", "--json")
    shows.says(event="ready")

    def answer() -> bool:
        for received in hears.poll():
            if isinstance(decode_any(received.data), SequenceMergeMapRequest):
                says.offer(bad)
        return bool(asks.objects())

    maps.system.until(answer, "refused")
    assert asks.wait() == 1
    error = asks.objects()[-1]
    assert (error["code"], error["facts"]["reason"], error["facts"]["rule"]) == (401, "window_zero", 0)
    shows.send(signal.SIGINT)
    assert shows.wait() == 0, shows
    found = shows.objects()[1]
    assert (found["out_stream"], found["epoch"], found["facts"]["reason"]) == (OUT, 3, "window_zero")


def test_what_cannot_be_served_is_wrong_usage(maps: Maps) -> None:
    union = maps.file(f'[join]\npolicy = "union"\n{LEFT}')
    wrong = maps.file(f"[join]\nout_stream = 'X'\n{LEFT}", "wrong.toml")
    good = maps.file(BY_SEQ, "good.toml")
    for words, code in (
        (("--config", union), 907),
        (("--config", wrong), 902),
        (("--config", "/nowhere/join.toml"), 904),
        (("--config", good, "--config", good), 907),
        ((), 907),
    ):
        serves = maps.run("serve", *words, "--json")
        assert serves.wait() == 2, serves
        assert only_object(serves)["code"] == code


@pytest.mark.parametrize("words", [("serve",), ("request", "--out-stream", "5"), ("show",)])
def test_without_a_media_driver_there_is_nobody_to_talk_to(
    system: System, shm: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "join.toml"
    file.write_text(BY_SEQ)
    config = ("--config", str(file)) if words == ("serve",) else ()
    places = ("--aeron-dir", str(shm / "none"), "--wait-driver", "0.1")
    program = system.framegate("mergemap", *words, *config, *places, "--json")
    assert program.wait() == 3, program
    assert only_object(program)["code"] == 301
