# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""Every numbered error can really happen: product code raises it, and it reads, pickles and exits as promised.

A number without an example fails. Add to the dictionary of its family a callable that makes product code raise it.
"""

from __future__ import annotations

import os
import pickle
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import pytest
from framegate.driver.configuration import load_driver_config
from framegate.driver.options import DriverOptions
from framegate.schema.console.reporting import event, numbered_error, rendered
from framegate.schema.errors import DONE, ENVIRONMENT, FAILED, WRONG_USAGE, FramegateError, numbered

from tests.unit.driver.driver_error_examples import DRIVER_ERROR_EXAMPLES as LEASE_DRIVER
from tests.unit.gate.gate_error_examples import GATE_ERROR_EXAMPLES as GATE
from tests.unit.joinbarrier.agent_error_examples import AGENT_ERROR_EXAMPLES as AGENTS
from tests.unit.joinbarrier.checkpoint_error_examples import CHECKPOINT_ERROR_EXAMPLES as CHECKPOINTS
from tests.unit.joinbarrier.flight.flight_error_examples import FLIGHT_ERROR_EXAMPLES as FLIGHT
from tests.unit.joinbarrier.journal.journal_error_examples import JOURNAL_ERROR_EXAMPLES as JOURNAL
from tests.unit.joinbarrier.map_error_examples import MAP_ERROR_EXAMPLES as MAPS
from tests.unit.joinbarrier.spark.spark_error_examples import SPARK_ERROR_EXAMPLES as SPARK
from tests.unit.recording.recording_error_examples import RECORDING_ERROR_EXAMPLES as RECORDINGS
from tests.unit.schema.join_error_examples import JOIN_ERROR_EXAMPLES as BARRIERS
from tests.unit.schema.message_errors import EXAMPLES as MESSAGES
from tests.unit.schema.pool_error_examples import POOL_ERROR_EXAMPLES as POOL
from tests.unit.schema.transport_error_examples import TRANSPORT_ERROR_EXAMPLES
from tests.unit.tools.demo.demo_error_examples import DEMO_ERROR_EXAMPLES as DEMO
from tests.unit.tools.rig.rig_error_examples import RIG_ERROR_EXAMPLES as RIGS

Example = Callable[[], object]


def _configured(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "driver.toml")
        file.write_text(text)
        load_driver_config(DriverOptions(config=file), {})


def _on_the_command_line(*arguments: str) -> None:
    from framegate.schema.errors import WrongUsage

    from framegate.cli import TYPER_FAILURE, application

    try:
        application()(list(arguments), standalone_mode=False)
    except TYPER_FAILURE as usage:
        raise WrongUsage(cast(Any, usage).format_message()) from None


def _translated(failing: Example) -> None:
    try:
        failing()
    except (Exception, KeyboardInterrupt) as failure:
        raise numbered_error(failure) from None


def _write_to_a_full_device() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def _refuse_permission() -> None:
    raise PermissionError(13, os.strerror(13), "/dev/shm/somebody-elses")


def _interrupt() -> None:
    raise KeyboardInterrupt


CONFIGURATION_AND_ENVIRONMENT: Final[dict[int, Example]] = {
    901: lambda: _configured("[driver]\ncontrol_stream = 1\n"),
    902: lambda: _configured("[driver]\ncontrol_stream_id = 'x'\n"),
    903: lambda: _configured("[driver\n"),
    904: lambda: load_driver_config(DriverOptions(config=Path("/nowhere/driver.toml")), {}),
    905: lambda: _configured("[profiles.a]\n"),
    906: lambda: _configured("[driver]\nqos_stream_id = 10000\n"),
    907: lambda: _on_the_command_line("driver", "--nope"),
    921: lambda: _translated(_write_to_a_full_device),
    922: lambda: _translated(_refuse_permission),
    998: lambda: _translated(_interrupt),
    999: lambda: _translated(lambda: 1 / 0),
}

# The families whose examples their own packages know best.
TRANSPORT: Final[dict[int, Example]] = {**TRANSPORT_ERROR_EXAMPLES}

EXAMPLES: Final[dict[int, Example]] = {
    **MESSAGES,
    **POOL,
    **GATE,
    **LEASE_DRIVER,
    **TRANSPORT,
    **BARRIERS,
    **JOURNAL,
    **FLIGHT,
    **MAPS,
    **AGENTS,
    **CHECKPOINTS,
    **SPARK,
    **DEMO,
    **RIGS,
    **RECORDINGS,
    **CONFIGURATION_AND_ENVIRONMENT,
}
KINDS: Final = list(numbered())


def raised(kind: type[FramegateError]) -> FramegateError:
    if kind.code not in EXAMPLES:
        pytest.fail(f"FG-{kind.code} {kind.name} has no example in this file")
    with pytest.raises(kind) as caught:
        EXAMPLES[kind.code]()
    return caught.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.code}-{kind.name}")
def test_product_code_raises_it(kind: type[FramegateError]) -> None:
    assert type(raised(kind)) is kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.code}-{kind.name}")
def test_it_prints_as_two_lines_and_as_an_event(kind: type[FramegateError]) -> None:
    error = raised(kind)
    first, second = rendered(error).split("\n")
    assert re.match(rf"\[FG-{kind.code:03} {kind.name}\] \S", first)
    assert second.strip()
    shown = event(error)
    assert (shown["event"], shown["code"], shown["name"]) == ("error", kind.code, kind.name)
    assert shown["message"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.code}-{kind.name}")
def test_its_facts_survive_pickling(kind: type[FramegateError]) -> None:
    error = raised(kind)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (type(again), str(again), again.facts, again.hint) == (kind, str(error), error.facts, error.hint)


def test_numbers_are_unique_and_exit_codes_are_the_four() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(codes) == len(set(codes))
    assert {kind.exit_code for kind in KINDS} <= {DONE, FAILED, WRONG_USAGE, ENVIRONMENT} - {DONE}


def test_no_example_is_left_over() -> None:
    assert set(EXAMPLES) <= {kind.code for kind in KINDS}
