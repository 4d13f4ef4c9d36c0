# SPDX-License-Identifier: Apache-2.0
"""Joins whose map another process announces: one file for both, restarts, maps that do not suit, and who is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.system.join_bed import LEFT, OUT, RIGHT, JoinBed, interrupted, killed
from tests.system.journal_table import read_rows, row_count

if TYPE_CHECKING:
    from framegate.shmpool.producer.producer import Producer

    from tests.system.conftest import Program, System

FRAMES = 100
OTHERS = {"serve": False}
"""The map comes from another process."""
RULES = f"""
[join]
out_stream = {OUT}
[mergemap]
announce_ms = 50
[[input]]
name = "left"
stream = {LEFT}
[[input]]
name = "right"
stream = STREAM
offset = OFFSET
"""


class Bed(JoinBed):
    """With an authority of its own."""

    def serve(self, config: Path) -> Program:
        authority = self.system.framegate("mergemap", "serve", str(config), *self.pool.places, "--json")
        authority.says(event="ready")
        return authority

    def rules(self, name: str, *, offset: int = 0, stream: int = RIGHT) -> Path:
        """A file for an authority alone."""
        file = self.folder / f"{name}.toml"
        file.write_text(RULES.replace("STREAM", str(stream)).replace("OFFSET", str(offset)))
        return file

    def bare(self) -> Path:
        """A join that says nothing of offsets and windows."""
        text = f"[join]\nout_stream = {OUT}\njournal = JOURNAL\n"
        text += "".join(
            f'[[input]]\nname = "{name}"\nstream = {each}\n' for name, each in (("left", LEFT), ("right", RIGHT))
        )
        return self.configure(text, mergemap=OTHERS)

    def asked(self) -> dict[str, object]:
        """What ``mergemap request`` without an epoch finds."""
        asks = self.system.framegate("mergemap", "request", "--out-stream", str(OUT), *self.pool.places, "--json")
        assert asks.wait() == 0, asks
        return dict(asks.objects()[-1])

    def publish(self, producers: list[Producer], agent: Program, count: int = FRAMES) -> None:
        """Publish frames in step, and wait until the agent has made a row of each pair."""
        rows = row_count(self.journal())
        for each in producers:
            self.pool.wait_ready(each, 1)
        for _ in range(count):
            for each in producers:
                each.publish(np.zeros(4, np.uint8))
        self.until_rows(agent, rows + count)


@pytest.fixture
def bed(system: System, shm: Path) -> Bed:
    bed = Bed(system, shm)
    bed.start_driver()
    return bed


@pytest.fixture
def producers(bed: Bed) -> Iterator[list[Producer]]:
    """Both inputs, by one client that stays: what frames meet whose producers go is tested elsewhere."""
    with bed.pool.client() as client:
        yield [bed.pool.producer(client, stream) for stream in (LEFT, RIGHT)]


@pytest.mark.parametrize("is_authority_first", [True, False])
def test_an_authority_and_a_join_work_from_one_file(
    bed: Bed, producers: list[Producer], is_authority_first: bool
) -> None:
    config = bed.lockstep(mergemap=OTHERS)
    if is_authority_first:
        bed.serve(config)
    agent = bed.join(config)
    if not is_authority_first:
        bed.serve(config)
    bed.publish(producers, agent)
    interrupted(agent)


@pytest.mark.parametrize("is_own", [True, False])
def test_when_an_input_comes_back_the_map_of_the_new_out_epoch_is_served(
    bed: Bed, producers: list[Producer], is_own: bool
) -> None:
    config = bed.lockstep() if is_own else bed.lockstep(mergemap=OTHERS)
    if not is_own:
        bed.serve(config)
    agent = bed.join(config)
    bed.publish(producers, agent)
    assert bed.asked()["epoch"] == 1
    for each in producers:
        each.close()
    with bed.pool.client() as client:
        bed.publish([bed.pool.producer(client, stream) for stream in (LEFT, RIGHT)], agent)
        newest = read_rows(bed.journal())[-1].out_epoch
        assert newest > 1
        agent.until(lambda: bed.asked()["epoch"] == newest, "announcing the epoch that runs")
        interrupted(agent)


def test_a_request_without_an_epoch_finds_the_map_of_a_join_with_defaults(bed: Bed) -> None:
    bed.join(bed.lockstep())
    found = bed.asked()
    assert (found["out_stream"], found["epoch"], found["kind"]) == (OUT, 1, "sequence")


def test_a_map_that_contradicts_the_file_is_a_wrong_start_and_both_texts_are_printed(bed: Bed) -> None:
    bed.serve(bed.rules("authority", offset=-2))
    agent = bed.join(bed.lockstep(mergemap=OTHERS), is_ready=False)
    assert agent.wait() == 2, agent
    error = next(each for each in agent.objects() if each["event"] == "error")
    assert error["name"] == "MAP_CONTRADICTED"
    assert error["facts"]["file"] == "input[1] right: offset = 0"
    assert error["facts"]["map"] == "input[1] right: offset = -2"


def test_a_map_for_streams_that_the_join_lacks_does_not_end_the_asking(bed: Bed, producers: list[Producer]) -> None:
    wrong = bed.serve(bed.rules("wrong", stream=10_077))
    agent = bed.join(bed.bare())
    agent.until(lambda: "unknown_stream" in agent.stderr, "refusing")
    killed(wrong)
    bed.serve(bed.rules("right"))
    bed.publish(producers, agent)
    assert agent.stderr.count("MAP_REFUSED") == 1
    interrupted(agent)


def test_a_map_that_begins_to_contradict_the_file_blocks_the_output_with_one_line(
    bed: Bed, producers: list[Producer]
) -> None:
    first = bed.serve(bed.rules("first"))
    agent = bed.join(bed.lockstep(mergemap=OTHERS))
    bed.publish(producers, agent)
    killed(first)
    second = bed.serve(bed.rules("second", offset=-2))
    agent.until(lambda: "MAP_CONTRADICTED" in agent.stderr, "refusing")
    killed(second)
    bed.serve(bed.rules("third"))
    bed.publish(producers, agent)
    assert agent.stderr.count("MAP_CONTRADICTED") == 1
    interrupted(agent)
    description = json.loads((bed.journal() / "journal.json").read_text())
    assert [each["version"] for each in description["maps"]] == [1]
