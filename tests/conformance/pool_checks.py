# SPDX-License-Identifier: Apache-2.0
"""Fixtures and assertions that the suites of the pool share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pytest
from framegate.schema.wire import FrameDescriptor

from tests.conformance.pool_world import (
    EPOCH,
    STREAM_ID,
    Array,
    Pipes,
    PoolReader,
    PoolWorld,
    PoolWriter,
    Taken,
    pool_world,
)

KINDS: Final = ("reference", "native")


@pytest.fixture(scope="module")
def pipes(aeron_dir: str) -> Iterator[Pipes]:
    pipes = Pipes(aeron_dir)
    yield pipes
    pipes.close()


@pytest.fixture
def world(pipes: Pipes) -> Iterator[PoolWorld]:
    with pool_world(pipes) as world:
        yield world


@pytest.fixture(params=KINDS)
def writer(world: PoolWorld, request: pytest.FixtureRequest) -> PoolWriter:
    return world.writer(request.param)


@pytest.fixture(params=KINDS)
def reader(world: PoolWorld, request: pytest.FixtureRequest) -> PoolReader:
    return world.reader(request.param)


def counting(shape: tuple[int, ...], dtype: str = "u1") -> Array:
    """Elements that differ from their neighbours; -1, 0 and 1 among them where the dtype can."""
    return (np.arange(int(np.prod(shape))) - 1).astype(dtype).reshape(shape)


def descriptor(seq: int = 0, **others: Any) -> FrameDescriptor:
    """A descriptor of the world's stream and epoch."""
    return FrameDescriptor(**{"stream_id": STREAM_ID, "epoch": EPOCH, "seq": seq, **others})


def taken(answer: Taken | str) -> Taken:
    """The frame that a reader took."""
    assert isinstance(answer, Taken), answer
    return answer


def assert_shows(answer: Taken | str, array: Array) -> None:
    """The frame is that array, as a view and as a copy."""
    frame = taken(answer)
    wanted = array if array.ndim else array.reshape(1)
    assert (frame.dtype, frame.shape) == (array.dtype.name, wanted.shape)
    for shown in (frame.view.array, frame.view.copy()):
        assert shown.dtype == array.dtype
        np.testing.assert_array_equal(shown, wanted)
    assert not frame.view.array.flags.writeable
    assert frame.view.is_valid()
