# SPDX-License-Identifier: Apache-2.0
"""Whether the output of a restored join goes on where it was, and from which row it is published again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest
from framegate.joinbarrier.agent.former_output import Tail, goes_on_from, is_repeatable
from framegate.joinbarrier.checkpoint.state_head import StateHead
from framegate.joinbarrier.config.configuration import JoinConfig

TAIL = Tail(epoch=7, out_epoch=2)


@dataclass(frozen=True, slots=True)
class Head:
    """What is asked of a state's head."""

    journal_epoch: int = 7
    out_epoch: int = 2
    next_row: int = 40


def config(join: dict[str, Any] | None = None, inputs: int = 2, **of_each: Any) -> JoinConfig:
    of_each = of_each or {"offset": 0}
    made = [{"name": f"input{index}", "stream": 10_001 + index, **of_each} for index in range(inputs)]
    return JoinConfig.model_validate({"join": {"publish": "input0", **(join or {})}, "input": made})


def first_row(found: JoinConfig, head: Head | None, *, go_sources_on: bool = True) -> int | None:
    return goes_on_from(found, cast(StateHead | None, head), TAIL, go_sources_on=go_sources_on)


def test_rows_behind_the_checkpoint_are_published_again() -> None:
    assert first_row(config(), Head()) == 40


def test_before_the_first_checkpoint_everything_is_published_again() -> None:
    assert first_row(config(), None) == 0


def test_in_another_journal_row_numbers_say_nothing() -> None:
    assert first_row(config(), Head(journal_epoch=6)) == 0


def test_an_output_that_began_anew_since_does_not_go_on() -> None:
    assert first_row(config(), Head(out_epoch=1)) is None


def test_where_a_source_does_not_go_back_a_number_may_come_again_with_another_frame() -> None:
    assert first_row(config(), Head(), go_sources_on=False) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (config(), True),
        (config({"policy": "timestamp"}, offset_ns=0), True),
        (config({"policy": "timestamp", "drive": "watermark"}, offset_ns=0), True),
        (config({"policy": "timestamp", "drive": "clock:10"}, offset_ns=0), False),
        (config({"policy": "union"}, optional=False), False),
        (config({"policy": "union"}, inputs=1, optional=False), True),
        (config({"policy": "latest"}, optional=False), False),
        (config(offset=0, deadline_ms=5), False),
        (config({"max_age_ms": 5}), False),
    ],
)
def test_rows_are_repeatable_where_neither_time_nor_turns_decide(found: JoinConfig, expected: bool) -> None:
    assert is_repeatable(found) is expected
    assert (first_row(found, Head()) is not None) is expected
