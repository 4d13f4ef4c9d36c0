# SPDX-License-Identifier: Apache-2.0
"""What users install: the wheel and the sdist are built, each goes into a fresh environment, and works there.

The sdist is compiled from nothing by an ordinary ``pip install``, as on a machine that has never seen the tree.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from framegate._version import VERSION

if TYPE_CHECKING:
    from tests.system.conftest import System

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
PROGRAM = "framegate-media-driver"
EVERY_LINUX_HAS = re.compile(r"(libc|libm|libgcc_s|ld-linux[\w-]*)\.so\.\d+")
HEAVY = {"pyspark", "pyarrow", "numpy", "pandas", "pydantic", "typer", "rich"}


def run(words: Sequence[str | Path], folder: Path, **environment: str) -> str:
    """Run a program to its end in a folder; what it printed. Its failure is the test's, with all it said."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def outside_the_tree(name: str, factory: pytest.TempPathFactory) -> Path:
    folder = factory.mktemp(name)
    assert not folder.is_relative_to(ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the tree, with the build requirements of the environment that runs the tests."""
    folder = outside_the_tree("wheel", tmp_path_factory)
    for stale in ROOT.glob("build/lib.*"):
        # Setuptools packs whatever an earlier build left there, removed modules too.
        shutil.rmtree(stale)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        folder,
    ]
    run([*pip, "."], ROOT, PATH=tools)
    return only(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the tree's own backend."""
    folder = outside_the_tree("sdist", tmp_path_factory)
    hook = "import sys, backend; backend.build_sdist(sys.argv[1])"
    run([sys.executable, "-c", hook, folder], ROOT, PYTHONPATH=str(ROOT / "native" / "_build"))
    return only(folder.glob("*.tar.gz"))


def only(found: object) -> Path:
    paths = sorted(found)  # type: ignore[call-overload]
    assert len(paths) == 1, paths
    return Path(paths[0])


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment into which one of the two was installed; nothing of the tree is on its path."""
    package = request.getfixturevalue(request.param)
    home = outside_the_tree(f"installed-{request.param}", tmp_path_factory)
    run([sys.executable, "-m", "venv", home / "venv"], home)
    run([home / "venv/bin/python", "-m", "pip", "install", package], home)
    return home / "venv"


def test_the_wheel_has_one_extension_for_every_later_python_and_the_media_driver(wheel: Path) -> None:
    assert re.fullmatch(rf"framegate-{re.escape(VERSION)}-cp311-abi3-linux_\w+\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if ".so" in name] == ["framegate/_native.abi3.so"]
    programs = {Path(name).name for name in names if name.startswith(f"framegate-{VERSION}.data/scripts/")}
    # The launcher becomes the script that pip makes of the entry point.
    assert programs == {PROGRAM, "framegate"}
    entry_points = zipfile.ZipFile(wheel).read(f"framegate-{VERSION}.dist-info/entry_points.txt").decode()
    assert "framegate-python = framegate.__main__:main" in entry_points


def test_the_wheel_holds_the_packages_of_the_tree_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    finder = "pyspark_framegate.py"  # Spark looks for top-level modules of such names.
    assert tops == {"framegate", finder, f"framegate-{VERSION}.data", f"framegate-{VERSION}.dist-info"}
    modules = {name for name in names if name.endswith(".py")}
    packages = [path for path in (ROOT / "framegate").parent.iterdir() if (path / "__init__.py").is_file()]
    wanted = {finder}
    for package in packages:
        prefix = "framegate" if package.name == "framegate" else f"framegate/{package.name}"
        # A folder without an __init__.py, such as scripts of the build, is no package.
        folders = [init.parent for init in package.rglob("__init__.py")]
        wanted |= {f"{prefix}/{path.relative_to(package)}" for folder in folders for path in folder.glob("*.py")}
    assert modules == wanted
    licences = {f"framegate-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "THIRD-PARTY-LICENSES.txt")}
    assert licences <= set(names)
    data = {f"framegate/schema/xml/{path.name}" for path in (ROOT / "schema/xml").glob("*.xml")}
    assert data <= set(names)
    assert {"framegate/py.typed", "framegate/_native.pyi"} <= set(names)


def test_the_sdist_holds_the_sources_and_nothing_that_was_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()]
    wanted = {"pyproject.toml", "LICENSE", ".cargo/config.toml", "native/Cargo.lock", "native/_build/backend.py"}
    assert wanted <= set(names)
    assert [name for name in names if name.startswith("native/target/") or name.endswith((".so", ".pyc"))] == []


def test_the_native_files_need_nothing_that_a_linux_lacks(environment: Path) -> None:
    extension = only(environment.glob("lib/python*/site-packages/framegate/*.so"))
    assert extension.name == "_native.abi3.so"
    for file in (extension, environment / "bin" / PROGRAM):
        dynamic = run(["readelf", "--dynamic", "--wide", file], environment)
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
        assert needed, dynamic
        assert [name for name in needed if not EVERY_LINUX_HAS.fullmatch(name)] == []
        assert "RUNPATH" not in dynamic
        assert "RPATH" not in dynamic


def test_installed_it_says_its_version(environment: Path, tmp_path: Path) -> None:
    assert run([environment / "bin/framegate", "--version"], tmp_path) == f"framegate {VERSION}\n"
    where = "import framegate; print(framegate.__file__)"
    assert Path(run([environment / "bin/python", "-c", where], tmp_path).strip()).is_relative_to(environment)


def test_installed_its_version_is_told_without_the_heavy_packages(environment: Path, tmp_path: Path) -> None:
    words = [environment / "bin/python", "-X", "importtime", "-m", "framegate", "--version"]
    done = subprocess.run([str(word) for word in words], cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "framegate._version" in imported
    assert {name.partition(".")[0] for name in imported} & HEAVY == set()


def test_installed_the_driver_serves_with_its_own_media_driver(environment: Path, shm: Path, system: System) -> None:
    words = ["driver", "--aeron-dir", str(shm / "aeron"), "--base-dir", str(shm / "pool"), "--json"]
    # No folder of any environment on the path: the program is found beside its Python.
    program = system.start(str(environment / "bin/framegate"), *words, PATH="/usr/bin:/bin")
    program.says(event="ready")
    media_driver = program.children()
    assert [Path(f"/proc/{pid}/exe").readlink() for pid in media_driver] == [environment.resolve() / "bin" / PROGRAM]
    assert system.serves(str(shm / "aeron"))
    program.send(signal.SIGINT)
    assert program.wait() == 0, program


def test_installed_the_demo_runs_without_spark_and_says_so(environment: Path, system: System) -> None:
    small = ("--seconds", "2", "--shape", "120x160", "--json")
    demo = system.start(str(environment / "bin/framegate"), "demo", *small, PATH="/usr/bin:/bin")
    assert demo.wait() == 0, demo
    summary = demo.objects()[-1]
    assert (summary["event"], summary["spark"]) == ("summary", False)
    assert summary["rows"] > 0
    assert demo.stderr.startswith("[FG-710 PY_SPARK_MISSING]")


def test_installed_its_declared_dependencies_are_all_that_it_needs(environment: Path, tmp_path: Path) -> None:
    run([environment / "bin/python", "-m", "pip", "check"], tmp_path)
    everything = (
        "import importlib, pkgutil, framegate\n"
        "for module in pkgutil.walk_packages(framegate.__path__, 'framegate.'):\n"
        "    if module.name.endswith('__main__'): continue\n"
        "    try: importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as missing:\n"
        # An extra brings it; everything else of the Spark source is to be imported all the same.
        "        assert missing.name == 'pyspark' and '.joinbarrier.spark.' in module.name, (module.name, missing)\n"
    )
    run([environment / "bin/python", "-W", "error", "-c", everything], tmp_path)
