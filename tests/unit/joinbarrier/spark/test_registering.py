# SPDX-License-Identifier: Apache-2.0
"""What is said of a machine before Spark would say it worse: Java, PySpark, and the workers' Python."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from framegate.joinbarrier.spark import unused_payload
from framegate.joinbarrier.spark.registering import (
    PUSHDOWN,
    check_java,
    check_pyspark,
    check_worker_python,
    executor_cores,
    register,
)
from framegate.joinbarrier.spark.source import FramegateDataSource
from framegate.schema.errors import JavaMissing, PySparkMissing, WorkerPython


def program(path: Path, *lines: str) -> str:
    """A script that stands for another program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o700)
    return str(path)


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions whose queries are watched. These here have no JVM that could tell of them."""
    found = list[Any]()
    monkeypatch.setattr(unused_payload, "watch", found.append)
    return found


def session(python: str, registered: list[Any], **conf: str) -> Any:
    return SimpleNamespace(
        sparkContext=SimpleNamespace(pythonExec=python, defaultParallelism=2),
        dataSource=SimpleNamespace(register=registered.append),
        conf={"spark.executor.instances": "3", "spark.executor.cores": "2", **conf},
    )


def test_a_session_is_told_of_the_format_and_its_queries_are_watched(watched: list[Any]) -> None:
    registered = list[Any]()
    made = session(sys.executable, registered)
    register(made)
    assert watched == [made]
    (source,) = registered
    assert issubclass(source, FramegateDataSource)
    assert source.name() == "framegate"
    assert source.executor_cores == 6


def test_a_session_with_the_wrong_python_is_not(folder: Path) -> None:
    registered = list[Any]()
    with pytest.raises(WorkerPython):
        register(session(str(folder / "python"), registered))
    assert registered == []


def test_each_wrong_python_has_its_own_text(folder: Path) -> None:
    wrong = {
        str(folder / "none"): "there is no such program",
        program(folder / "old", "echo 3.9"): "another version of Python",
        program(folder / "bare", "echo 'No module named framegate' >&2; exit 1"): "No module named framegate",
    }
    for python, text in wrong.items():
        with pytest.raises(WorkerPython, match=text) as caught:
            check_worker_python(python)
        assert caught.value.facts["PYSPARK_PYTHON"] == python
    check_worker_python(sys.executable)


def test_pyspark_must_be_there_and_new_enough() -> None:
    def missing(_: str) -> str:
        raise PackageNotFoundError("pyspark")

    with pytest.raises(PySparkMissing, match="not installed"):
        check_pyspark(missing)
    with pytest.raises(PySparkMissing, match=r"want=4\.0 have=3\.5\.9: PySpark is too old"):
        check_pyspark(lambda _: "3.5.9")
    check_pyspark(lambda _: "4.10.0")
    check_pyspark()


def test_java_is_looked_for_where_spark_would(folder: Path) -> None:
    old = program(folder / "old/bin/java", "echo 'openjdk version \"11.0.2\" 2019' >&2")
    program(folder / "new/bin/java", "echo 'openjdk version \"21.0.1\" 2023' >&2")
    program(folder / "other/java", "echo hello >&2")
    nowhere = {"PATH": str(folder / "nothing")}
    with pytest.raises(JavaMissing, match="no such program"):
        check_java(nowhere)
    with pytest.raises(JavaMissing, match="have=11") as caught:
        check_java({**nowhere, "JAVA_HOME": str(folder / "old")})
    assert caught.value.facts["java"] == old
    with pytest.raises(JavaMissing, match="have=hello"):
        check_java({"PATH": f"{folder / 'other'}{os.pathsep}/bin"})
    check_java({**nowhere, "JAVA_HOME": str(folder / "new")})
    check_java({"PATH": f"{folder / 'new/bin'}{os.pathsep}/bin"})


@pytest.mark.parametrize(("conf", "lines"), [("true", 0), ("false", 1)])
def test_one_line_says_where_filters_do_not_reach_the_source(
    conf: str, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    register(session(sys.executable, [], **{PUSHDOWN: conf}))
    assert [PUSHDOWN in each.message for each in caplog.records] == [True] * lines


def test_a_session_of_spark_connect_is_told_of_the_format_and_its_server_chooses_the_python() -> None:
    registered = list[Any]()
    made = session("/nowhere/python", registered)
    del made.sparkContext
    register(made)
    assert registered[0].executor_cores == 6
    made.conf = {}
    assert executor_cores(made) is None
