# SPDX-License-Identifier: Apache-2.0
"""The two beds: one whose driver all tests of a file share, and one of a test's own, whose driver it may kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside.bed import Bed


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A bed with a driver, on which tests use streams and folders of their own."""
    with Bed() as bed:
        bed.driver()
        yield bed


@pytest.fixture(autouse=True)
def ends_what_it_started(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test started on a shared bed ends with it: a join that waits takes its share of the machine."""
    shared: Bed | None = request.getfixturevalue("bed") if "bed" in request.fixturenames else None
    mark = 0 if shared is None else shared.started
    yield
    if shared is not None:
        shared.end_from(mark)


@pytest.fixture
def own_bed() -> Iterator[Bed]:
    """An empty bed of the test's own."""
    with Bed() as bed:
        yield bed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test starts several programs, which takes its time where others run beside it."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(400))
