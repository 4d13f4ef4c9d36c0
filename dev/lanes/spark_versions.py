# SPDX-License-Identifier: Apache-2.0
"""Which versions of PySpark, pyarrow, pandas and numpy does the Spark source work with?

``python -m dev.lanes.spark_versions [VERSION ...]`` makes a virtual environment for each combination under a temporary
folder, with this tree in it as it is built, and runs the tests of batch queries, streams, ``resolve`` and
``exactly_once`` in each, one after another. Versions too are ``oldest``, every bound of pyproject.toml at its lowest,
``pandas2``, with the newest of everything else, and ``delta``, the newest PySpark that Delta works with.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PARTS: Final = (
    "batch_queries",
    "stream_queries",
    "paths_and_times",
    "unused_payload",
    "resolve",
    "helpers",
    "exactly_once",
    "connect",
    "delta",
)
TESTS: Final = tuple(f"tests/spark/test_{part}.py" for part in PARTS)
TOOLS: Final = ("hypothesis", "pytest", "pytest-timeout")
DELTA: Final = "delta-spark>=4.4"
CONNECT: Final = "pyspark[connect]"
OF_PYSPARK: Final = ("-W", "ignore::ResourceWarning", "-W", "ignore::pytest.PytestUnraisableExceptionWarning")
"""Sockets that older versions of PySpark leave to the garbage collector."""
SHOWN: Final = ("pyspark", "pyarrow", "pandas", "numpy")
WATCHDOG_S: Final = 3600
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Combination:
    """What one virtual environment holds."""

    name: str
    requirements: tuple[str, ...]
    is_pinned: bool = True
    """Whether the rest is what constraints.txt says; else it is what the requirements need."""


def combinations(wanted: Iterable[str]) -> Iterator[Combination]:
    """The combinations of these versions; a version without its last part is the newest of them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["spark"]]
    for name in wanted:
        if name == "oldest":
            yield Combination(name, tuple(each.replace(">=", "==") for each in needed), is_pinned=False)
        elif name == "delta":
            # Earlier ones do not say that they are for no newer PySpark.
            yield Combination(name, (*needed, DELTA), is_pinned=False)
        elif name == "pandas2":
            newest = tuple(each for each in needed if not each.startswith("pandas"))
            yield Combination(name, (*newest, "pandas<3"), is_pinned=False)
        else:
            exactly = name if name.count(".") == 2 else f"{name}.*"
            yield Combination(name, (*needed, f"pyspark=={exactly}"))


ALL: Final = ("oldest", "4.0", "4.1", "4.2", "4.3", "pandas2", "delta")


def made(combination: Combination, folder: Path) -> Path:
    """The Python of a virtual environment that holds the combination, and this tree."""
    home = folder / combination.name
    venv.create(home, with_pip=True)
    python = home / "bin/python"
    constraints = folder / f"{combination.name}.txt"
    constraints.write_text("\n".join(_constraints(combination)))
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", str(constraints), *combination.requirements, CONNECT, *TOOLS], check=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    (here,) = Path(sys.prefix).glob("lib/python*/site-packages")
    # What an editable install leaves: the way to this tree, and the description of the package.
    for link in (*here.glob("__editable__*framegate*"), *here.glob("framegate-*.dist-info")):
        (site / link.name).symlink_to(link)
    return python


def _constraints(combination: Combination) -> list[str]:
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    kept = [line for line in pinned if not line.startswith(("#", "pyspark=="))]
    return kept if combination.is_pinned else [line for line in kept if line.split("==")[0] in TOOLS]


def versions(python: Path) -> list[str]:
    """Of what the table shows."""
    asked = f"from importlib.metadata import version; print(*map(version, {SHOWN!r}))"
    return subprocess.run([str(python), "-c", asked], capture_output=True, text=True, check=True).stdout.split()


def tested(python: Path) -> tuple[bool, str]:
    """Whether the tests pass, and how pytest counts them."""
    run = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=900", *OF_PYSPARK, *TESTS],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    if run.returncode:
        print(run.stdout[-20_000:], run.stderr[-2_000:], sep="\n", file=sys.stderr)
    return run.returncode == 0, (run.stdout.strip().splitlines() or ["nothing"])[-1].strip("= ")


def main(wanted: list[str]) -> int:
    """Print a row for each combination as it is done; the exit code counts those that failed."""
    failed = 0
    print(*("combination", *SHOWN, "tests"), sep="\t", flush=True)
    with tempfile.TemporaryDirectory(prefix="framegate-lanes-") as folder:
        for combination in combinations(wanted or ALL):
            python = made(combination, Path(folder))
            is_good, counts = tested(python)
            failed += not is_good
            print(combination.name, *versions(python), counts, sep="\t", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
