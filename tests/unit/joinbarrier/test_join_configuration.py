# SPDX-License-Identifier: Apache-2.0
"""A join.toml: what the contract shows loads as it stands, and a mistake is named with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.joinbarrier.config.configuration import JoinConfig, load_join_config
from framegate.joinbarrier.config.drive import Drive
from framegate.joinbarrier.config.sections import (
    CheckpointSection,
    InputSection,
    JoinSection,
    JournalSection,
    MergeMapSection,
    keys_that_decide_rows,
)
from framegate.joinbarrier.maps.mergemap import MergeMap, SequenceRule, TimestampRule
from framegate.schema.config.loading import Given
from framegate.schema.config.types import Section
from framegate.schema.errors import (
    ConfigurationError,
    ConflictingKeys,
    InvalidToml,
    MissingKey,
    UnknownKey,
    WrongType,
)
from framegate.schema.merge import ClockDomain, TimestampSource

LEFT = '[[input]]\nname = "left"\nstream = 10001\n'
RIGHT = '[[input]]\nname = "right"\nstream = 10002\n'
AS_IN_THE_CONTRACT = """
[join]
out_stream = 20001
policy = "sequence"              # sequence | timestamp | latest | union
journal = "out/joined"           # directory
drive = "counter"
first = "auto"
hold = "payload"
pending = "auto"
outputs = 0
publish = ""
unmatched = "rows"
on_input_restart = "new_epoch"
max_skew_ns = 0
max_age_ms = 0
pipeline = "default"

[journal]
max_bytes = "1GiB"
when_full = "drop_oldest"
durability = "memory"
seal_rows = 1024
seal_bytes = "64MiB"
seal_ms = 10
segment_bytes = "256MiB"
segment_s = 60
reader_lease_s = 600

[mergemap]
serve = true
epoch = 0
stale_timeout_ms = 0
lateness_ns = 0
clock_domain = "monotonic"
order_by = "seq"
late = "drop"

[[input]]
name = "left"
stream = 10001
offset = 0
timestamp_source = "slot_header"
pick = "newest"
reuse = true
deadline_ms = 0
processed = false
optional = false
barrier = "producer"

[[input]]
name = "right"
stream = 10002
offset = -2
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "join.toml"


def loaded(file: Path, text: str, environment: dict[str, str] | None = None) -> JoinConfig:
    file.write_text(text)
    return load_join_config(file, environment or {})


def refused(file: Path, text: str, kind: type[ConfigurationError]) -> ConfigurationError:
    with pytest.raises(kind) as caught:
        loaded(file, text)
    assert type(caught.value) is kind
    assert caught.value.facts["file"] == str(file)
    assert "further" not in caught.value.facts, caught.value
    return caught.value


def where(error: ConfigurationError) -> tuple[object, object]:
    return error.facts["line"], error.facts["key"]


def joined(policy: str, *more: str, inputs: str = LEFT + RIGHT) -> str:
    """A file whose ``[join]`` has the policy in line 2 and further keys from line 3 on."""
    return "\n".join(["[join]", f'policy = "{policy}"', *more, inputs])


def test_the_contracts_example_loads_and_says_the_defaults(toml: Path) -> None:
    config = loaded(toml, AS_IN_THE_CONTRACT)
    bare = loaded(toml, LEFT + RIGHT + "offset = -2\n")
    assert config.model_copy(update={"input": bare.input, "join": bare.join}) == bare
    assert config.join.model_copy(update={"drive": None}) == bare.join
    assert [each.model_copy(update={"offset": each.offset or None}) for each in config.input] == bare.input
    assert config.merge_map(3) == bare.merge_map(3)
    assert (bare.journal.max_bytes, bare.journal.seal_bytes, bare.journal.segment_bytes) == (
        1 << 30,
        64 << 20,
        256 << 20,
    )
    assert bare.join.pending_bytes == 256 << 20


def test_the_map_of_a_sequence_join(toml: Path) -> None:
    config = loaded(toml, LEFT + "window = 5\n" + RIGHT + "offset = -2\n[mergemap]\nstale_timeout_ms = 250\n")
    rules = [SequenceRule(10001, window=5), SequenceRule(10002, offset=-2)]
    assert config.merge_map(7) == MergeMap(20001, 7, rules, stale_timeout_ns=250_000_000)


def test_the_map_of_a_timestamp_join(toml: Path) -> None:
    inputs = LEFT + 'timestamp_source = "frame_descriptor"\n' + RIGHT + "window_ns = 900\n"
    text = joined("timestamp", "[mergemap]", "lateness_ns = 40", 'clock_domain = "realtime_synced"', inputs=inputs)
    rules = [
        TimestampRule(10001, offset_ns=0, source=TimestampSource.FRAME_DESCRIPTOR),
        TimestampRule(10002, window_ns=900),
    ]
    wanted = MergeMap(20001, 7, rules, clock_domain=ClockDomain.REALTIME_SYNCED, lateness_ns=40)
    assert loaded(toml, text).merge_map(7) == wanted


def test_the_map_of_a_latest_join_names_its_inputs_and_a_union_has_none(toml: Path) -> None:
    by_seq = loaded(toml, joined("latest")).merge_map(1)
    assert by_seq == MergeMap(20001, 1, [SequenceRule(10001, offset=0), SequenceRule(10002, offset=0)])
    by_time = loaded(toml, joined("latest", "[mergemap]", 'order_by = "timestamp"')).merge_map(1)
    rules = [TimestampRule(10001, offset_ns=0), TimestampRule(10002, offset_ns=0)]
    assert by_time == MergeMap(20001, 1, rules, clock_domain=ClockDomain.MONOTONIC)
    assert loaded(toml, joined("union")).merge_map(1) is None


@pytest.mark.parametrize(
    ("policy", "drive"),
    [
        ("sequence", Drive("counter")),
        ("timestamp", Drive("input", input="left")),
        ("latest", Drive("counter")),
        ("union", Drive("counter")),
    ],
)
def test_a_drive_that_is_not_given_is_the_policys_own(toml: Path, policy: str, drive: Drive) -> None:
    assert loaded(toml, joined(policy)).drive == drive


@pytest.mark.parametrize(
    ("policy", "text", "drive"),
    [
        ("sequence", "input:right", Drive("input", input="right")),
        ("timestamp", "clock:29.97", Drive("clock", hz=29.97)),
        ("timestamp", "watermark", Drive("watermark")),
        ("latest", "external:my.ptp:next_time", Drive("external", target="my.ptp:next_time")),
    ],
)
def test_a_drive_that_is_given(toml: Path, policy: str, text: str, drive: Drive) -> None:
    assert loaded(toml, joined(policy, f'drive = "{text}"')).drive == drive


@pytest.mark.parametrize(
    "text", ["clock", "clock:0", "clock:-1", "clock:nan", "clock:inf", "clock:x", "input:", "input"]
)
def test_a_drive_that_means_nothing(toml: Path, text: str) -> None:
    error = refused(toml, joined("timestamp", f'drive = "{text}"'), WrongType)
    assert where(error) == (3, "join.drive")
    assert '"input:NAME"' in str(error.facts["wanted"])


@pytest.mark.parametrize(
    "text", ["counter:1", "watermark:", "external:f", "external:a.b", "external:a:b:c", "external:a-b:c"]
)
def test_a_drive_with_too_much_or_too_little_behind_it(toml: Path, text: str) -> None:
    assert where(refused(toml, joined("timestamp", f'drive = "{text}"'), WrongType)) == (3, "join.drive")


@pytest.mark.parametrize(
    ("policy", "drive"),
    [
        ("sequence", "clock:10"),
        ("sequence", "watermark"),
        ("sequence", "external:a:b"),
        ("timestamp", "counter"),
        ("union", "input:left"),
        ("union", "watermark"),
        ("union", "clock:5"),
    ],
)
def test_a_drive_of_another_policy(toml: Path, policy: str, drive: str) -> None:
    error = refused(toml, joined(policy, f'drive = "{drive}"'), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((3, "join.drive"), "join.policy")
    assert f"the policy {policy} is driven by" in error.message


def test_a_drive_by_an_input_that_is_not_there_or_may_be_absent(toml: Path) -> None:
    error = refused(toml, joined("sequence", 'drive = "input:top"'), ConflictingKeys)
    assert (where(error), error.message) == ((3, "join.drive"), 'there is no input "top", only: left, right')
    text = joined("sequence", 'drive = "input:right"', inputs=LEFT + RIGHT + "optional = true\n")
    assert where(refused(toml, text, ConflictingKeys)) == (10, "input[1].optional")
    # Also where nobody wrote the drive: the first input of a timestamp join drives it.
    text = joined("timestamp", inputs=LEFT + "optional = true\n" + RIGHT)
    assert where(refused(toml, text, ConflictingKeys)) == (6, "input[0].optional")


def test_a_counted_join_of_nothing_but_optional_inputs(toml: Path) -> None:
    error = refused(toml, joined("sequence", inputs=LEFT + "optional = true\n"), ConflictingKeys)
    assert where(error) == (6, "input[0].optional")
    assert loaded(toml, joined("latest", inputs=LEFT + "optional = true\n")).input[0].optional


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        ("sequence", "offset_ns", "0"),
        ("sequence", "window_ns", "5"),
        ("sequence", "tolerance_ns", "5"),
        ("sequence", "pick", '"nearest"'),
        ("sequence", "reuse", "false"),
        ("sequence", "regressed", '"drop"'),
        ("timestamp", "window", "5"),
        ("latest", "offset", "0"),
        ("latest", "window_ns", "5"),
        ("latest", "reuse", "false"),
        ("union", "window", "5"),
        ("union", "offset_ns", "5"),
        ("union", "deadline_ms", "5"),
    ],
)
def test_a_key_of_another_policy_is_refused(toml: Path, policy: str, key: str, value: str) -> None:
    error = refused(toml, joined(policy, inputs=LEFT + RIGHT + f"{key} = {value}\n"), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((9, f"input[1].{key}"), "join.policy")


@pytest.mark.parametrize(
    ("policy", "key", "value"),
    [
        ("sequence", "order_by", '"timestamp"'),
        ("timestamp", "order_by", '"timestamp"'),
        ("sequence", "lateness_ns", "1"),
        ("latest", "lateness_ns", "1"),
        ("sequence", "late", '"stall"'),
        ("latest", "late", '"stall"'),
        ("sequence", "clock_domain", '"realtime_synced"'),
        ("latest", "clock_domain", '"realtime_synced"'),
        ("union", "stale_timeout_ms", "1"),
    ],
)
def test_a_key_of_the_map_that_its_policy_has_no_use_for(toml: Path, policy: str, key: str, value: str) -> None:
    error = refused(toml, joined(policy, "[mergemap]", f"{key} = {value}"), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((4, f"mergemap.{key}"), "join.policy")


@pytest.mark.parametrize(
    ("policy", "first", "second"), [("sequence", "offset", "window"), ("timestamp", "offset_ns", "window_ns")]
)
def test_a_rule_of_both_kinds(toml: Path, policy: str, first: str, second: str) -> None:
    error = refused(toml, joined(policy, inputs=LEFT + f"{first} = 0\n{second} = 5\n"), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((7, f"input[0].{second}"), f"input[0].{first}")


def test_a_tolerance_of_a_window(toml: Path) -> None:
    error = refused(toml, joined("timestamp", inputs=LEFT + "window_ns = 5\ntolerance_ns = 3\n"), ConflictingKeys)
    assert where(error) == (7, "input[0].tolerance_ns")
    assert loaded(toml, joined("timestamp", inputs=LEFT + "tolerance_ns = 3\n")).input[0].tolerance_ns == 3


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("sequence", "offset = -2147483648"),
        ("sequence", "offset = 2147483648"),
        ("sequence", "window = 4294967295"),
        ("sequence", "window = 0"),
        ("timestamp", "offset_ns = -9223372036854775808"),
        ("timestamp", "window_ns = 0"),
        ("timestamp", "tolerance_ns = -1"),
        ("sequence", "stream = 0"),
        ("sequence", "stream = 4294967295"),
        ("sequence", "descriptor_stream = 2147483648"),
        ("sequence", 'timestamp_source = "slot"'),
        ("timestamp", 'pick = "oldest"'),
        ("sequence", 'barrier = "consumer"'),
        ("sequence", "deadline_ms = -1"),
        ("sequence", "optional = 1"),
    ],
)
def test_an_input_with_a_null_value_or_one_out_of_range(toml: Path, policy: str, line: str) -> None:
    key = line.partition(" ")[0]
    inputs = '[[input]]\nname = "left"\n' + line + ("" if key == "stream" else "\nstream = 10001")
    error = refused(toml, joined(policy, inputs=inputs), WrongType)
    assert where(error) == (5, f"input[0].{key}")


@pytest.mark.parametrize(
    "name", ["", "Left", "1st", "le-ft", "le ft", "_left", "links_ä", "row", "out_seq", "checkpoint_id"]
)
def test_a_name_that_cannot_be_a_column(toml: Path, name: str) -> None:
    error = refused(toml, f'[[input]]\nname = "{name}"\nstream = 1\n', WrongType)
    assert where(error) == (2, "input[0].name")


def test_two_inputs_of_one_name(toml: Path) -> None:
    error = refused(toml, LEFT + LEFT.replace("10001", "10002"), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((5, "input[1].name"), "input[0].name")


def test_two_inputs_of_one_stream_that_disagree_about_stamps_that_go_back(toml: Path) -> None:
    drops = RIGHT.replace("10002", "10001") + 'regressed = "drop"\n'
    error = refused(toml, joined("timestamp", inputs=LEFT + drops), ConflictingKeys)
    assert (error.facts["key"], error.facts["other"]) == ("input[1].regressed", "input[0].regressed")


def test_one_stream_in_two_inputs_is_allowed(toml: Path) -> None:
    """A frame beside its predecessor: every rule must hold, and nothing forbids two of one input."""
    found = loaded(toml, LEFT + RIGHT.replace("10002", "10001") + "offset = -1\n").merge_map(0)
    assert found is not None
    assert found.streams == (10001,)


def test_an_output_that_is_its_own_input(toml: Path) -> None:
    error = refused(toml, "[join]\nout_stream = 10002\n" + LEFT + RIGHT, ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((8, "input[1].stream"), "join.out_stream")


def test_no_input_and_too_many(toml: Path) -> None:
    assert where(refused(toml, "[join]\nout_stream = 5\n", MissingKey))[1] == "input"
    assert where(refused(toml, "input = []\n", WrongType)) == (1, "input")
    inputs = "".join(f'[[input]]\nname = "i{n}"\nstream = {n + 1}\n' for n in range(129))
    error = refused(toml, inputs, WrongType)
    assert (error.facts["key"], error.facts["wanted"]) == ("input", "at most 128 of them")
    assert len(loaded(toml, inputs[: inputs.rindex("[[input]]")]).input) == 128


def test_an_input_without_a_name_or_stream(toml: Path) -> None:
    assert where(refused(toml, LEFT + "[[input]]\nstream = 5\n", MissingKey)) == (4, "input[1].name")


def test_what_is_published_is_an_input_or_a_function_of_the_only_one(toml: Path) -> None:
    assert loaded(toml, joined("sequence", 'publish = "right"')).join.publish == "right"
    assert loaded(toml, joined("sequence", 'publish = "my.module:f"', inputs=LEFT)).join.publish == "my.module:f"
    error = refused(toml, joined("sequence", 'publish = "my.module:f"'), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((3, "join.publish"), "input")
    error = refused(toml, joined("sequence", 'publish = "top"'), ConflictingKeys)
    assert (where(error), error.message) == ((3, "join.publish"), 'there is no input "top", only: left, right')
    assert where(refused(toml, joined("sequence", 'publish = "a b"'), WrongType)) == (3, "join.publish")


def test_only_a_join_that_publishes_waits_for_consumers(toml: Path) -> None:
    assert loaded(toml, joined("sequence", 'publish = "left"\nwait_consumers = 2')).join.wait_consumers == 2
    error = refused(toml, joined("sequence", "wait_consumers = 1"), ConflictingKeys)
    assert (where(error), error.facts["other"]) == ((3, "join.wait_consumers"), "join.publish")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('seal_bytes = "300MiB"', 2, "journal.seal_bytes"),
        ('seal_bytes = "32MiB"\nsegment_bytes = "16MiB"', 2, "journal.seal_bytes"),
        ('segment_bytes = "2GiB"', 2, "journal.segment_bytes"),
        ('max_bytes = "128MiB"\nsegment_bytes = "256MiB"', 3, "journal.segment_bytes"),
    ],
)
def test_sizes_that_do_not_fit_each_other(toml: Path, text: str, line: int, key: str) -> None:
    assert where(refused(toml, f"[journal]\n{text}\n{LEFT}", ConflictingKeys)) == (line, key)


def test_a_batch_above_what_a_payload_column_holds(toml: Path) -> None:
    text = '[journal]\nmax_bytes = "8GiB"\nsegment_bytes = "4GiB"\nseal_bytes = "{}"\n' + LEFT
    assert loaded(toml, text.format("1GiB")).journal.seal_bytes == 1 << 30
    assert where(refused(toml, text.format("1025MiB"), WrongType)) == (4, "journal.seal_bytes")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("join", 'policy = "newest"'),
        ("join", "out_stream = 0"),
        ("join", 'journal = ""'),
        ("join", 'first = "first"'),
        ("join", "first = -1"),
        ("join", "first = true"),
        ("join", 'hold = "frame"'),
        ("join", 'pending = "disk"'),
        ("join", "pending_bytes = 0"),
        ("join", "outputs = -1"),
        ("join", 'unmatched = "none"'),
        ("join", 'on_input_restart = "go on"'),
        ("join", "max_skew_ns = -1"),
        ("join", "max_age_ms = 0.5"),
        ("join", 'pipeline = "a/b"'),
        ("journal", 'max_bytes = "1GB"'),
        ("journal", 'when_full = "stop"'),
        ("journal", 'durability = "tape"'),
        ("journal", "seal_rows = 0"),
        ("journal", "seal_ms = -1"),
        ("journal", "segment_s = 0"),
        ("journal", "reader_lease_s = 0"),
        ("mergemap", 'serve = "yes"'),
        ("mergemap", "epoch = -1"),
        ("mergemap", "announce_ms = 0"),
        ("mergemap", 'clock_domain = "utc"'),
        ("mergemap", 'late = "wait"'),
    ],
)
def test_a_value_of_the_wrong_type_or_range(toml: Path, table: str, line: str) -> None:
    error = refused(toml, f"[{table}]\n{line}\n{LEFT}", WrongType)
    assert where(error) == (2, f"{table}.{line.partition(' ')[0]}")
    assert error.facts["found"]


def test_an_unknown_key_names_the_nearest(toml: Path) -> None:
    error = refused(toml, f"[join]\njournel = 'x'\n{LEFT}", UnknownKey)
    assert (where(error), error.facts["nearest"]) == ((2, "join.journel"), "journal")
    error = refused(toml, LEFT + "ofset = 1\n", UnknownKey)
    assert (where(error), error.facts["nearest"]) == ((4, "input[0].ofset"), "offset")
    error = refused(toml, f"[join]\nlateness_ns = 1\n{LEFT}", UnknownKey)
    assert error.facts["nearest"] == "mergemap.lateness_ns"


def test_a_file_that_is_no_toml(toml: Path) -> None:
    with pytest.raises(InvalidToml) as caught:
        loaded(toml, "[join\n")
    assert (caught.value.facts["file"], caught.value.facts["line"]) == (str(toml), 1)


def test_several_mistakes_give_the_first_and_how_many_there_are(toml: Path) -> None:
    with pytest.raises(ConflictingKeys) as caught:
        loaded(
            toml,
            joined("sequence", 'drive = "watermark"', inputs=LEFT + "window_ns = 1\n" + RIGHT + "pick = 'nearest'\n"),
        )
    assert (where(caught.value), caught.value.facts["further"]) == ((3, "join.drive"), 2)


def test_every_key_has_a_variable_and_options_beat_it(toml: Path) -> None:
    toml.write_text("[join]\noutputs = 1\n" + LEFT)
    environment = {
        "FRAMEGATE_JOIN_OUTPUTS": "2",
        "FRAMEGATE_JOIN_FIRST": "7",
        "FRAMEGATE_JOIN_POLICY": "latest",
        "FRAMEGATE_JOURNAL_MAX_BYTES": "2GiB",
        "FRAMEGATE_MERGEMAP_SERVE": "false",
        "FRAMEGATE_INPUT": '[{name = "a", stream = 5}, {name = "b", stream = 6}]',
    }
    config = load_join_config(toml, environment, {"join.outputs": Given(3, "--outputs")})
    assert (config.join.outputs, config.join.first, config.join.policy) == (3, 7, "latest")
    assert (config.journal.max_bytes, config.mergemap.serve) == (2 << 30, False)
    assert [each.name for each in config.input] == ["a", "b"]
    with pytest.raises(UnknownKey) as caught:
        load_join_config(toml, {"FRAMEGATE_JOIN_OUTPUT": "1"})
    assert caught.value.facts["nearest"] == "FRAMEGATE_JOIN_OUTPUTS"


def test_a_file_may_say_where_the_drivers_are(toml: Path) -> None:
    assert loaded(toml, LEFT + '[client]\naeron_dir = "/dev/shm/x"\n').client.aeron_dir == "/dev/shm/x"  # noqa: S108


def test_a_stream_of_descriptors_of_its_own(toml: Path) -> None:
    config = loaded(toml, LEFT + "descriptor_stream = 1101\n" + RIGHT)
    assert [each.descriptor_stream for each in config.input] == [1101, None]


def test_a_full_journal_that_blocks_needs_a_reader_and_says_so(toml: Path) -> None:
    assert loaded(toml, LEFT).warnings() == []
    (warning,) = loaded(toml, '[journal]\nwhen_full = "block"\n' + LEFT).warnings()
    assert "named reader" in warning


def test_a_processed_cursor_that_nothing_feeds_is_refused(toml: Path) -> None:
    with pytest.raises(ConflictingKeys) as refused:
        loaded(toml, '[[input]]\nname = "a"\nstream = 1\nprocessed = true\n')
    assert refused.value.facts["key"] == "input[0].processed"
    assert "no message says what a stage has consumed" in refused.value.message
    assert "join.wait_consumers" in refused.value.message


@pytest.mark.parametrize(
    ("written", "fitted"),
    [
        ({}, (256 << 20, 64 << 20)),
        ({"max_bytes": 64 << 20}, (16 << 20, 4 << 20)),
        ({"max_bytes": 5000}, (4096, 1024)),
        ({"max_bytes": 64 << 20, "segment_bytes": 32 << 20}, (32 << 20, 8 << 20)),
        ({"segment_bytes": 16 << 20, "seal_bytes": 1 << 20}, (16 << 20, 1 << 20)),
    ],
)
def test_sizes_of_a_journal_that_are_left_out_fit_those_that_are_written(
    written: dict[str, int], fitted: tuple[int, int]
) -> None:
    journal = JournalSection.model_validate(written)
    assert (journal.segment_bytes, journal.seal_bytes) == fitted


def test_the_keys_that_decide_which_rows_a_join_makes_are_marked() -> None:
    """A key that is left out here lets a recording be joined by another rule than the one before it."""
    by_rule = {"offset", "window", "offset_ns", "window_ns", "tolerance_ns", "timestamp_source", "pick", "reuse"}
    wanted: dict[type[Section], set[str]] = {
        JoinSection: {"policy", "drive", "first", "max_skew_ns", "max_age_ms"},
        JournalSection: set(),
        CheckpointSection: set(),
        MergeMapSection: {"stale_timeout_ms", "lateness_ns", "clock_domain", "order_by", "late"},
        InputSection: by_rule | {"stream", "deadline_ms", "optional", "regressed"},
    }
    assert {section: keys_that_decide_rows(section) for section in wanted} == wanted
