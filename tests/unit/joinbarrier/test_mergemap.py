# SPDX-License-Identifier: Apache-2.0
"""What a MergeMap may hold (PROTOCOL 11.2), as a value, as a message, and as bytes."""

from __future__ import annotations

import doctest
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import framegate.joinbarrier.barriers.barriers
import framegate.joinbarrier.barriers.readiness
import framegate.joinbarrier.maps.mergemap
import pytest
from framegate.joinbarrier import MergeMap, SequenceRule, TimestampRule
from framegate.schema.errors import MapRefused, Truncated, UnsupportedVersion
from framegate.schema.merge import (
    ClockDomain,
    MergeRuleType,
    SequenceMergeMapAnnounce,
    SequenceMergeMapRequest,
    TimestampMergeMapAnnounce,
    TimestampSource,
)
from framegate.schema.wire import FrameDescriptor

SEQUENCE: Final = MergeMap(
    11_000, 9, [SequenceRule(10_000, offset=-2), SequenceRule(10_001, window=5)], stale_timeout_ns=70
)
TIMESTAMP: Final = MergeMap(
    11_000,
    9,
    [
        TimestampRule(10_000, offset_ns=-200),
        TimestampRule(10_001, window_ns=300, source=TimestampSource.FRAME_DESCRIPTOR),
    ],
    clock_domain=ClockDomain.REALTIME_SYNCED,
    lateness_ns=100,
)
BOTH: Final = pytest.mark.parametrize("made", [SEQUENCE, TIMESTAMP], ids=["sequence", "timestamp"])


def refusal(**changes: Any) -> dict[str, object]:
    base: dict[str, Any] = {"out_stream": 11_000, "epoch": 9, "rules": [SequenceRule(10_000, offset=0)]}
    with pytest.raises(MapRefused) as caught:
        MergeMap(**{**base, **changes})
    return caught.value.facts


# --- Values ---------------------------------------------------------------------------------------------


def test_a_map_without_rules_is_refused_and_names_its_output() -> None:
    assert refusal(rules=[]) == {"out_stream": 11_000, "epoch": 9, "reason": "no_rules"}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (SequenceRule(1), "parameter_missing"),
        (SequenceRule(1, offset=0, window=1), "parameter_extra"),
        (SequenceRule(1, window=0), "window_zero"),
        (SequenceRule(1, window=-1), "out_of_range"),
        (SequenceRule(1, window=2**32 - 1), "out_of_range"),
        (SequenceRule(1, offset=-(2**31)), "out_of_range"),
        (SequenceRule(1, offset=2**31), "out_of_range"),
        (SequenceRule(1, offset=0.5), "out_of_range"),  # type: ignore[arg-type]
        (SequenceRule(-1, offset=0), "out_of_range"),
        (SequenceRule(2**32, offset=0), "out_of_range"),
    ],
    ids=repr,
)
def test_one_bad_sequence_rule_refuses_the_map_and_is_named(rule: SequenceRule, reason: str) -> None:
    facts = refusal(rules=[SequenceRule(7, offset=0), rule])
    assert (facts["rule"], facts["stream"], facts["reason"]) == (1, rule.stream, reason)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (TimestampRule(1), "parameter_missing"),
        (TimestampRule(1, offset_ns=0, window_ns=1), "parameter_extra"),
        (TimestampRule(1, window_ns=0), "window_zero"),
        (TimestampRule(1, window_ns=2**64 - 1), "out_of_range"),
        (TimestampRule(1, offset_ns=-(2**63)), "out_of_range"),
        (TimestampRule(1, offset_ns=2**63), "out_of_range"),
        (TimestampRule(1, offset_ns=0, source=3), "unknown_timestamp_source"),  # type: ignore[arg-type]
        (SequenceRule(1, offset=0), "mixed_rules"),
    ],
    ids=repr,
)
def test_one_bad_timestamp_rule_refuses_the_map_and_is_named(rule: Any, reason: str) -> None:
    facts = refusal(rules=[TimestampRule(7, offset_ns=0), rule], clock_domain=ClockDomain.MONOTONIC)
    assert (facts["rule"], facts["stream"], facts["reason"]) == (1, 1, reason)


@pytest.mark.parametrize("domain", [None, 0, 3])
def test_a_timestamp_map_declares_a_clock_domain_that_has_a_name(domain: Any) -> None:
    facts = refusal(rules=[TimestampRule(1, offset_ns=0)], clock_domain=domain)
    assert facts["reason"] == "unknown_clock_domain"


@pytest.mark.parametrize("extra", [{"clock_domain": ClockDomain.MONOTONIC}, {"lateness_ns": 1}], ids=repr)
def test_a_sequence_map_has_neither_clock_domain_nor_lateness(extra: dict[str, Any]) -> None:
    assert refusal(**extra)["reason"] == "not_for_sequences"


@pytest.mark.parametrize(
    "wrong",
    [{"out_stream": 2**32}, {"epoch": -1}, {"epoch": 2**64}, {"stale_timeout_ns": 2**64 - 1}, {"stale_timeout_ns": -1}],
    ids=repr,
)
def test_numbers_outside_their_fields_are_refused(wrong: dict[str, int]) -> None:
    assert refusal(**wrong)["reason"] == "out_of_range"


def test_the_widest_parameters_are_taken() -> None:
    made = MergeMap(
        2**32 - 1,
        2**64 - 1,
        [
            SequenceRule(0, offset=-(2**31) + 1),
            SequenceRule(0, offset=2**31 - 1),
            SequenceRule(2**32 - 1, window=2**32 - 2),
        ],
        stale_timeout_ns=2**64 - 2,
    )
    assert MergeMap.decode(made.to_message().encode()) == made


def test_one_input_may_have_several_rules() -> None:
    assert MergeMap(1, 0, [SequenceRule(7, offset=0), SequenceRule(7, window=3)]).streams == (7,)


@pytest.mark.parametrize(
    "changed",
    [
        replace(SEQUENCE, epoch=10),
        replace(SEQUENCE, out_stream=1),
        replace(SEQUENCE, stale_timeout_ns=None),
        replace(SEQUENCE, rules=[*SEQUENCE.rules, SequenceRule(3, offset=0)]),
        replace(SEQUENCE, rules=[SequenceRule(10_000, offset=-3), SEQUENCE.rules[1]]),
    ],
    ids=["epoch", "out_stream", "stale_timeout_ns", "one more", "offset"],
)
def test_equal_is_an_identical_announce_and_any_change_is_not(changed: MergeMap) -> None:
    assert MergeMap.from_message(SEQUENCE.to_message()) == SEQUENCE
    assert changed != SEQUENCE


# --- Messages -------------------------------------------------------------------------------------------


@BOTH
def test_a_map_comes_back_from_its_announce_and_from_its_bytes(made: MergeMap) -> None:
    assert MergeMap.from_message(made.to_message()) == made
    assert MergeMap.decode(b"...." + made.to_message().encode(), 4) == made


def test_the_golden_announce_is_the_map_that_the_protocol_says() -> None:
    golden = bytes.fromhex(
        "1400010087030100f82a00000900000000000000ffffffffffffffff0d0002001027000000feffffffffffffff1127000001000000"
        "8005000000"
    )
    made = MergeMap(11_000, 9, [SequenceRule(10_000, offset=-2), SequenceRule(10_001, window=5)])
    assert MergeMap.decode(golden) == made
    assert made.to_message().encode() == golden


def test_an_absent_lateness_is_none_at_all() -> None:
    message = TIMESTAMP.to_message()
    assert isinstance(message, TimestampMergeMapAnnounce)
    assert MergeMap.from_message(replace(message, lateness_ns=None)).lateness_ns == 0


def test_the_rule_type_of_a_message_decides_which_parameter_it_must_have() -> None:
    window = SequenceMergeMapAnnounce.Rule(input_stream_id=7, rule_type=MergeRuleType.WINDOW, offset=1)
    with pytest.raises(MapRefused) as caught:
        MergeMap.from_message(SequenceMergeMapAnnounce(out_stream_id=1, epoch=2, rules=(window,)))
    wanted = {"out_stream": 1, "epoch": 2, "rule": 0, "stream": 7, "reason": "parameter_missing"}
    assert caught.value.facts == wanted


# --- Bytes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "foreign",
    [
        SequenceMergeMapRequest(out_stream_id=11_000, epoch=9).encode(),
        FrameDescriptor(stream_id=1, epoch=1, seq=1).encode(),
        struct.pack("<HHHH", 20, 5, 903, 1) + bytes(20),
        struct.pack("<HHHH", 20, 1, 77, 1) + bytes(20),
    ],
    ids=["request", "descriptor", "unknown template", "unknown schema"],
)
def test_what_is_no_map_is_passed_over(foreign: bytes) -> None:
    assert MergeMap.decode(foreign) is None


@BOTH
def test_a_newer_version_and_every_cut_are_refused_as_messages(made: MergeMap) -> None:
    encoded = made.to_message().encode()
    newer = bytearray(encoded)
    newer[6] = 2
    with pytest.raises(UnsupportedVersion):
        MergeMap.decode(newer)
    for length in range(len(encoded)):
        with pytest.raises(Truncated):
            MergeMap.decode(encoded[:length])


@pytest.mark.parametrize(
    ("made", "at", "reason"),
    [
        (SEQUENCE, 8 + 20 + 4 + 4, "unknown_rule_type"),
        (TIMESTAMP, 8 + 29 + 4 + 4, "unknown_rule_type"),
        (TIMESTAMP, 8 + 29 + 4 + 5, "unknown_timestamp_source"),
        (TIMESTAMP, 8 + 20, "unknown_clock_domain"),
    ],
)
def test_bytes_with_an_unknown_enum_refuse_the_map_of_their_pair(made: MergeMap, at: int, reason: str) -> None:
    encoded = bytearray(b"...." + made.to_message().encode())
    encoded[4 + at] = 9
    with pytest.raises(MapRefused) as caught:
        MergeMap.decode(encoded, 4)
    assert caught.value.facts == {"out_stream": 11_000, "epoch": 9, "reason": reason}


# --- The package ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        framegate.joinbarrier.maps.mergemap,
        framegate.joinbarrier.barriers.readiness,
        framegate.joinbarrier.barriers.barriers,
    ],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_examples_of_the_docstrings_run(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_package_imports_no_arrays_and_no_compiled_part() -> None:
    heavy = "print([name for name in ('numpy', 'pyarrow', 'framegate._native') if name in sys.modules])"
    command = [sys.executable, "-c", f"import sys, framegate.joinbarrier; {heavy}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_example_of_the_page_runs() -> None:
    page = Path(framegate.joinbarrier.__file__).with_name("README.md")
    text = page.read_text()
    # Other chapters have examples of their own, which need more than this process.
    chapter = text[text.index("## Maps and barriers") :].partition("\n## ")[0]
    result = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(chapter, {}, "page", str(page), 0))
    assert result.attempted > 0
    assert result.failed == 0
