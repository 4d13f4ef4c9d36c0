# SPDX-License-Identifier: Apache-2.0
"""The programs in ``examples/`` run as they are, and end with the numbers that they promise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.outside.bed import Bed

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
ENDS_WITH: Final = {
    "two_cameras": r"90 rows of 90; every frame was joined",
    "camera_and_imu": r"90 rows of 90; camera and sample \d\.\d\d ms apart, \d\.\d\d at most",
    "processing_stage": r"118 of 118 rows hold a frame with what was found in it; .*",
    "sliding_window": r"1(19|20) rows; the last five frames .* are beside \[2\d(, 2\d){4}\] of the slow one",
    "latest_configuration": r"(\d\d) frames with an exposure of 10 ms, then (\d\d) with 20 ms",
    "own_recording": r"60 rows with camera and imu; \d+ MiB recorded",
    "spark_streaming": r"60 rows in Spark of 60; a mean brightness of \d+\.\d\d",
    "observe_loop": r"50 answers in \d+\.\d\d ms each; the older frame was \d+\.\d ms old",
    "checkpoint_and_restore": r"150 rows, 0 to 149, each once; [1-9]\d* checkpoints are kept",
    "chained_joins": r"60 pairs, 60 rows; the last is <Row 59: .*>",
}


def test_every_example_is_run_and_named_on_its_page() -> None:
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"cameras"}
    assert programs == set(ENDS_WITH)
    assert set(re.findall(r"\| `(\w+)\.py` \|", (EXAMPLES / "README.md").read_text())) == programs


@pytest.mark.parametrize("name", ENDS_WITH)
def test_an_example_runs_as_it_is(own_bed: Bed, name: str) -> None:
    program = own_bed.program(EXAMPLES / f"{name}.py")
    assert program.ended(300) == 0, program
    assert any(re.fullmatch(ENDS_WITH[name], line) for line in program.text.splitlines()), program
    assert not (own_bed.folder / "aeron").exists(), "the driver is gone"
    left = {path.name for path in (own_bed.folder / "pool").iterdir()}
    assert left <= {"streams.json", "streams.lock"}
