# SPDX-License-Identifier: Apache-2.0
"""The watermarks of an output: one suite over both implementations, and both against each other."""

from __future__ import annotations

from typing import Any

import pytest
from framegate.spec.join.output_watermarks import WAITING_MAX, OutputWatermarks
from hypothesis import given
from hypothesis import strategies as st

import framegate._native as _native

E = 7
NULL = (1 << 64) - 1
IMPLEMENTATIONS = {"reference": OutputWatermarks, "native": _native.OutputWatermarks}


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def kind(request: pytest.FixtureRequest) -> Any:
    return IMPLEMENTATIONS[request.param]


def passed(watermarks: Any, decided: tuple[int, int] | None) -> int | None:
    watermarks.release(decided, E)
    due: int | None = watermarks.due()
    return due


def test_a_watermark_waits_for_the_frames_that_came_before_it(kind: Any) -> None:
    watermarks = kind(is_reusing=False)
    watermarks.note(10, (E, 4))
    watermarks.note(20, (E, 6))
    assert [passed(watermarks, (E, seq)) for seq in (3, 5)] == [None, 10]
    assert watermarks.is_waiting
    assert passed(watermarks, (E, 6)) == 20
    assert not watermarks.is_waiting


def test_one_that_does_not_advance_is_nothing_and_another_epoch_holds_nothing_up(kind: Any) -> None:
    watermarks = kind(is_reusing=False)
    watermarks.note(10, (E - 1, 400))
    watermarks.note(10, None)
    assert [passed(watermarks, None), passed(watermarks, None)] == [10, None]


def test_a_frame_that_may_be_published_again_bounds_it(kind: Any) -> None:
    watermarks = kind(is_reusing=True)
    watermarks.note(10, None)
    assert passed(watermarks, None) is None
    watermarks.note_published(NULL)
    assert passed(watermarks, None) is None
    watermarks.note_published(4_500_000)
    assert passed(watermarks, None) == 4
    watermarks.note_published(30_000_000)
    assert passed(watermarks, None) == 10


def test_what_waits_is_bounded_and_the_newest_is_kept(kind: Any) -> None:
    watermarks = kind(is_reusing=False)
    for ms in range(1, 3 * WAITING_MAX):
        watermarks.note(ms, (E, ms))
    assert passed(watermarks, (E, WAITING_MAX - 1)) == WAITING_MAX - 1
    assert passed(watermarks, (E, 3 * WAITING_MAX)) == 3 * WAITING_MAX - 1


def test_an_output_that_begins_anew_has_promised_nothing(kind: Any) -> None:
    watermarks = kind(is_reusing=False)
    watermarks.note(10, None)
    assert passed(watermarks, None) == 10
    watermarks.forget()
    watermarks.note(5, None)
    assert passed(watermarks, None) == 5


PLACES = st.one_of(st.none(), st.tuples(st.sampled_from([E, E + 1]), st.integers(0, 5)))
STEPS = st.one_of(
    st.tuples(st.just("note"), st.integers(0, 30), PLACES),
    st.tuples(st.just("release"), PLACES, st.sampled_from([None, E, E + 1])),
    st.tuples(st.just("due")),
    st.tuples(st.just("note_published"), st.sampled_from([0, 999_999, 3_000_000, 40_000_000, NULL])),
    st.tuples(st.just("forget")),
)


@given(st.lists(STEPS, max_size=60), st.booleans())
def test_both_say_the_same(script: list[tuple[Any, ...]], is_reusing: bool) -> None:
    reference, native = OutputWatermarks(is_reusing=is_reusing), _native.OutputWatermarks(is_reusing=is_reusing)
    for name, *arguments in script:
        assert getattr(reference, name)(*arguments) == getattr(native, name)(*arguments), (name, arguments)
        assert reference.is_waiting == native.is_waiting, (name, arguments)
