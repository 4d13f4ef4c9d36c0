# SPDX-License-Identifier: Apache-2.0
"""What starts before what: readers before what they read, journals before their readers, and no circles."""

from __future__ import annotations

from pathlib import Path

import pytest
from framegate.schema.errors import RigCycle
from framegate.shmpool.client.stream_names import StreamNames
from framegate.tools.rig.load import load_rig
from framegate.tools.rig.plan import Plan

SOURCE = "[source.{0}]\nstream = {1}\nrate = 10\n"
JOIN = '[join.{0}.join]\njournal = "out/{0}"\nout_stream = {1}\n{2}\n'
INPUT = '[[join.{0}.input]]\nname = "in{1}"\nstream = {1}\n'


def join(name: str, out: int, *streams: int, publish: str = "") -> str:
    head = JOIN.format(name, out, f'publish = "{publish}"' if publish else "")
    return head + "".join(INPUT.format(name, stream) for stream in streams)


def plan(tmp_path: Path, *texts: str, has_driver: bool = False) -> Plan:
    file = tmp_path / "rig.toml"
    file.write_text("\n".join(texts))
    return Plan(load_rig(file, {}, base_dir=str(tmp_path / "pool")), tmp_path / "run", has_driver=has_driver)


def order(found: Plan) -> list[str]:
    return [each.name for each in found.parts]


def test_the_driver_is_first_and_sources_are_last(tmp_path: Path) -> None:
    found = plan(
        tmp_path, SOURCE.format("left", 1), join("both", 9, 1), '[recorder.tape]\nfile = "a.mcap"\nstreams = [1]\n'
    )
    assert order(found)[0] == "driver"
    assert order(found)[-1] == "left"


def test_a_source_waits_only_for_those_that_read_its_stream_and_counts_them(tmp_path: Path) -> None:
    found = {
        each.name: each for each in plan(tmp_path, SOURCE.format("left", 1), join("a", 8, 1), join("b", 9, 2)).parts
    }
    assert found["left"].after == {"driver", "a"}
    assert found["left"].readers == ("a",)


def test_a_command_whose_streams_nobody_said_waits_for_every_reader(tmp_path: Path) -> None:
    found = {each.name: each for each in plan(tmp_path, '[source.cam]\ncommand = "true"\n', join("a", 8, 1)).parts}
    assert found["cam"].after == {"driver", "a"}


def test_a_join_that_publishes_starts_behind_those_that_read_its_rows(tmp_path: Path) -> None:
    names = order(plan(tmp_path, join("first", 5, 1, publish="in1"), join("second", 6, 5), SOURCE.format("left", 1)))
    assert names == ["driver", "second", "first", "left"]


def test_what_reads_a_journal_starts_behind_its_join(tmp_path: Path) -> None:
    names = order(plan(tmp_path, '[server.s]\njoins = ["both"]\n', join("both", 9, 1)))
    assert names.index("both") < names.index("s")


def test_a_reader_of_a_later_phase_holds_no_source_of_the_first_up(tmp_path: Path) -> None:
    again = '[join.again]\nafter_end = ["live"]\n' + join("again", 8, 1)
    found = {each.name: each for each in plan(tmp_path, SOURCE.format("left", 1), join("live", 9, 1), again).parts}
    assert found["left"].readers == ("live",)
    assert found["again"].after_end == {"live"}


def test_joins_that_read_each_other_are_refused_and_named(tmp_path: Path) -> None:
    texts = join("first", 5, 6, publish="in6"), join("second", 6, 5, publish="in5")
    with pytest.raises(RigCycle, match=r"waits for (first|second) waits for"):
        plan(tmp_path, *texts)


def test_parts_that_wait_for_each_other_by_name_are_refused(tmp_path: Path) -> None:
    texts = ['[command.{}]\ncommand = "true"\nafter_end = ["{}"]\n'.format(*pair) for pair in ("ab", "bc", "ca")]
    with pytest.raises(RigCycle, match=r"waits for (a|b|c) waits for (a|b|c) waits for"):
        plan(tmp_path, *texts)


def test_a_driver_that_is_there_is_no_part(tmp_path: Path) -> None:
    found = plan(tmp_path, '[command.x]\ncommand = "true"\nafter = ["driver"]\n', has_driver=True)
    assert [(each.name, each.after) for each in found.parts] == [("x", frozenset())]


def test_streams_by_name_are_handed_on_by_their_numbers(tmp_path: Path) -> None:
    texts = (
        '[source.cam]\nstream = "left"\nrate = 10\n',
        '[join.both]\nwords = "left right:-2 imu~10ms"\nout = "out/both"\n',
        '[recorder.tape]\nfile = "a.mcap"\nstreams = ["left", 7]\n',
    )
    found = {each.name: each for each in plan(tmp_path, *texts).parts}
    left = StreamNames(tmp_path / "pool").id_of("left")
    assert found["cam"].words[3:6] == ("produce", "--stream", str(left))
    assert found["cam"].readers == ("both", "tape")
    assert found["both"].words[3:] == ("join", "left", "right:-2", "imu~10ms", "--out", "out/both", "--json")
    assert f"{left},7" in found["tape"].words


def test_the_tables_of_a_join_become_its_file(tmp_path: Path) -> None:
    found = plan(tmp_path, join("both", 9, 1, 2, publish="in1"))
    [(path, text)] = found.join_files().items()
    assert path == tmp_path / "run" / "both.toml"
    assert text.count("[[input]]") == 2
    assert 'publish = "in1"' in text
