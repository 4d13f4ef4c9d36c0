# SPDX-License-Identifier: Apache-2.0
"""What the demo starts, before it starts anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from framegate.joinbarrier.config.configuration import load_join_config
from framegate.schema.errors import WrongUsage
from framegate.tools.demo.cast import environment
from framegate.tools.demo.options import DemoOptions
from framegate.tools.demo.plan import LAG, Plan, check


def plan(folder: Path, **options: Any) -> Plan:
    return Plan(DemoOptions(**options), folder, folder)


@pytest.mark.parametrize("inputs", [2, 3, 16])
@pytest.mark.parametrize("shape", [(16, 16), (480, 640), (2160, 3840)])
@pytest.mark.parametrize("rate", [0.1, 200.0, 100_000.0])
def test_the_joins_file_is_one_that_a_join_takes(
    tmp_path: Path, inputs: int, shape: tuple[int, int], rate: float
) -> None:
    made = plan(tmp_path, inputs=inputs, shape=shape, rate=rate)
    made.join_file.write_text(made.join_toml())
    config = load_join_config(made.join_file, {})
    assert [each.offset for each in config.input] == [0] * (inputs - 1) + [LAG]
    assert [(each.name, each.stream) for each in config.input] == [(each.name, each.stream) for each in made.cameras]
    assert Path(config.join.journal) == made.journal
    journal = config.journal
    assert made.row_bytes < journal.seal_bytes <= journal.segment_bytes <= journal.max_bytes
    assert made.slots & (made.slots - 1) == 0
    assert made.memory_bytes > made.ring_bytes + made.journal_bytes


def test_only_the_camera_that_lags_is_told_so(tmp_path: Path) -> None:
    made = plan(tmp_path, inputs=3)
    lags = [words[words.index("--lag") + 1] for words in map(made.camera, made.cameras)]
    assert lags == ["0", "0", str(LAG)]


def test_a_cluster_is_told_where_rows_are_given_and_nobody_else_is(tmp_path: Path) -> None:
    made = plan(tmp_path, has_cluster=True)
    assert str(made.journal) in made.server()
    words = made.query(in_spark=True, endpoint="grpc://127.0.0.1:7")
    assert words[words.index("--endpoint") + 1] == "grpc://127.0.0.1:7"
    assert "--endpoint" not in made.query(in_spark=True)


def test_what_is_kept_elsewhere_takes_no_shared_memory(tmp_path: Path) -> None:
    kept = Plan(DemoOptions(), tmp_path, tmp_path / "kept")
    assert plan(tmp_path).memory_bytes - kept.memory_bytes == kept.journal_bytes


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": 1},
        {"inputs": 17},
        {"shape": (480,)},
        {"shape": (15, 640)},
        {"shape": (3, 480, 640)},
        {"seconds": 0.0},
        {"has_cluster": True, "has_spark": False},
        {"seconds": 1e6, "rate": 1e6},
    ],
    ids=str,
)
def test_what_cannot_be_shown_is_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(WrongUsage, match="--"):
        check(DemoOptions(**options))


def test_what_is_configured_for_others_stays_out_and_temporary_files_stay_in(tmp_path: Path) -> None:
    inherited = {"PATH": "/bin", "FRAMEGATE_CONFIG": "x", "FRAMEGATE_LOG": "debug", "PYSPARK_PYTHON": "/nowhere"}
    inherited["JDK_JAVA_OPTIONS"] = "-Xmx1g"
    found, folder = environment(inherited, tmp_path), tmp_path / "tmp"
    assert found.pop("JDK_JAVA_OPTIONS").split()[:2] == ["-Xmx1g", f"-Djava.io.tmpdir={folder}"]
    assert {found.pop(name) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")} == {sys.executable}
    assert {found.pop(name) for name in list(found) if name.endswith("_NUM_THREADS")} == {"1"}
    assert found == {"PATH": "/bin", "FRAMEGATE_LOG": "debug", "TMPDIR": str(folder)}
