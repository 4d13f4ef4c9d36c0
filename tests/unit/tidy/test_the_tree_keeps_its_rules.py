# SPDX-License-Identifier: Apache-2.0
"""The house rules that a program can check: layers, banned calls, licence lines, one version."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from framegate.schema.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[3]
LAYERS = ("schema", "shmpool", "recording", "joinbarrier", "driver", "gate", "tools")
"""Imports point down only: a package imports itself and those before it."""
SPEC = "framegate.spec"
FACTORIES = {
    f"joinbarrier/{path}.py"
    for path in (
        "barriers/barriers",
        *(f"checkpoint/{name}" for name in ("aligner", "channel", "injector", "signal_aligner", "unaligned")),
    )
}
"""What makes a twin of the specification where `impl="reference"` asks for it."""
ROOMS = ("shmpool", "joinbarrier")
MUTUAL = {("shmpool.client", "shmpool.consumer"), ("shmpool.client", "shmpool.producer")}
"""A client makes producers and consumers, and they hold their lease by it."""

BANNED_CALLS = {
    "time.time": "framegate.shmpool.clock.realtime_ns",
    "time.time_ns": "framegate.shmpool.clock.realtime_ns",
    "time.monotonic": "framegate.shmpool.clock.monotonic_ns",
    "time.monotonic_ns": "framegate.shmpool.clock.monotonic_ns",
    "time.sleep": "framegate.shmpool.idle.sleep_ns",
}
CLOCK_FILES = {"shmpool/clock.py", "shmpool/idle.py"}
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "misc"}
SOURCE_SUFFIXES = {".py", ".pyi", ".rs", ".sh", ".xml", ".toml"}
WRITTEN_BY_TOOLS = ("schema/gen/", "native/codecs/src/gen/")


def tracked() -> list[Path]:
    """What git tracks, or would track: what a clone would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def sources(*folders: str) -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_are_sources_to_look_at() -> None:
    assert len(sources(*LAYERS)) > 30


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_down_only(layer: str) -> None:
    above = {f"framegate.{name}" for name in LAYERS[LAYERS.index(layer) + 1 :]} | {
        "framegate.cli",
        "framegate.__main__",
    }
    for path in sources(layer):
        for name in imported(ast.parse(path.read_text())):
            assert not any(name == upper or name.startswith(f"{upper}.") for upper in above), (
                f"{relative(path)}: {name}"
            )


def test_the_specification_is_loaded_by_the_factories_alone_and_only_when_it_is_asked_for() -> None:
    for path in sources(*LAYERS, "framegate"):
        tree = ast.parse(path.read_text())
        if any(name.startswith(SPEC) for name in imported(tree)):
            assert relative(path) in FACTORIES, relative(path)
        at_once = ast.Module([node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))], [])
        assert not any(name.startswith(SPEC) for name in imported(at_once)), relative(path)


def room_of(module: str) -> str:
    return ".".join(module.removeprefix("framegate.").split(".")[:2])


def test_rooms_do_not_import_each_other_in_circles() -> None:
    rooms = {relative(path.parent).replace("/", ".") for path in sources(*ROOMS) if path.parent.parent.parent == ROOT}
    uses: dict[str, set[str]] = {room: set() for room in rooms}
    for path in sources(*ROOMS):
        room = room_of(relative(path).replace("/", "."))
        if room in rooms:
            names = imported(ast.parse(path.read_text()))
            found = {room_of(name) for name in names if name.startswith("framegate.")} & rooms
            uses[room] |= {other for other in found - {room} if (room, other) not in MUTUAL}
    assert len(uses) > 12
    while uses:
        free = {room for room, others in uses.items() if not others & set(uses)}
        assert free, f"these import each other in a circle: {uses}"
        uses = {room: others for room, others in uses.items() if room not in free}


def test_each_kind_of_cause_and_cut_has_a_name_of_its_own() -> None:
    """In Python and in Rust alike; what tools write is named by the schema."""
    kind = re.compile(r"^ *(?:pub )?(?:class|enum|struct) (\w*(?:Cause|Cut))\b", re.MULTILINE)
    found = {".py": list[str](), ".rs": list[str]()}
    for path in tracked():
        if path.suffix in found and not relative(path).startswith(WRITTEN_BY_TOOLS) and "tests" not in path.parts:
            found[path.suffix] += kind.findall(path.read_text())
    for names in found.values():
        assert "Cause" in names
        assert len(names) == len(set(names)), sorted(names)


@pytest.mark.parametrize(
    "name", ["LAYOUT_VERSION", "SUPERBLOCK_BYTES", "SLOT_BYTES", "FORCED", "MAY_SWITCH", "YEAR_2000_NS"]
)
def test_a_number_that_several_rooms_go_by_is_written_once(name: str) -> None:
    given = re.compile(rf"^_?(?:HEADER_)?{name}\b.* = ", re.MULTILINE)
    found = [relative(path) for path in sources(*LAYERS, "spec") for _ in given.findall(path.read_text())]
    assert len(found) == 1, found


def test_nothing_that_is_installed_needs_what_is_not() -> None:
    for path in sources(*LAYERS, "spec", "framegate"):
        names = imported(ast.parse(path.read_text()))
        assert not any(name.partition(".")[0] in ("dev", "tests") for name in names), relative(path)


def test_packages_are_imported_by_their_full_name() -> None:
    for path in sources(*LAYERS, "spec", "framegate", "dev", "tests"):
        short = {name.partition(".")[0] for name in imported(ast.parse(path.read_text()))} & {*LAYERS, "spec"}
        assert not short, f"{relative(path)} imports {short}: write framegate.{min(short)}, or classes exist twice"


def test_only_the_clock_asks_for_the_time_and_only_idling_sleeps() -> None:
    for path in sources(*LAYERS, "spec", "framegate", "dev"):
        if relative(path) in CLOCK_FILES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                replacement = BANNED_CALLS.get(ast.unparse(node.func))
                assert replacement is None, f"{relative(path)}:{node.lineno}: use {replacement}"


def test_no_file_is_named_for_nothing() -> None:
    assert not [relative(path) for path in tracked() if path.stem in VAGUE_NAMES]


def test_every_source_file_names_its_licence() -> None:
    for path in tracked():
        if path.suffix not in SOURCE_SUFFIXES or relative(path).startswith(WRITTEN_BY_TOOLS):
            continue
        if path.suffix == ".toml" and "native" in path.parts:
            continue  # Cargo manifests say it in their `license` key.
        head = "\n".join(path.read_text().splitlines()[:3])
        assert "SPDX-License-Identifier: Apache-2.0" in head or not path.read_text(), relative(path)


def test_python_and_rust_have_one_version() -> None:
    workspace = tomllib.loads((ROOT / "native/Cargo.toml").read_text())["workspace"]["package"]
    found = re.search(r'VERSION = "([^"]+)"', (ROOT / "framegate/_version.py").read_text())
    assert found is not None
    assert workspace["version"] == found[1]


def test_constraints_hold_names_and_versions_only() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line


def test_every_package_is_in_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {path.parent for path in sources(*LAYERS, "spec") if path.name == "__init__.py"}
    assert {"framegate", *(f"framegate.{relative(folder).replace('/', '.')}" for folder in folders)} == listed


PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/README.md", "docs/why/README.md")


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_is_there(page: str) -> None:
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[\w.-]+)`", text))
    linked = {str((ROOT / page).parent.relative_to(ROOT) / link) for link in re.findall(r"\]\(([\w/.-]+)\)", text)}
    assert named | linked
    assert not [path for path in named | linked if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", [relative(path) for path in tracked() if path.name == "README.md"])
def test_files_of_which_a_room_tells_are_there(page: str) -> None:
    """In tables: by their path in the tree, or from the room."""
    rows = "\n".join(line for line in (ROOT / page).read_text().splitlines() if line.startswith("|"))
    named = set(re.findall(r"`((?:\.\./)*(?:[a-z_]+/)+[\w]+\.(?:py|rs|md|toml|sh))`", rows))
    rooms = ROOT, (ROOT / page).parent
    assert not [path for path in named if not any((room / path).exists() for room in rooms)]


@pytest.mark.parametrize("page", [relative(path) for path in tracked() if path.name == "README.md"])
def test_a_row_of_a_rooms_table_names_one_file_that_is_there(page: str) -> None:
    rows = [line.split("|")[1] for line in (ROOT / page).read_text().splitlines() if line.startswith("|")]
    for named in (re.findall(r"`((?:[\w.]+/)*\w+\.(?:py|rs))`", row) for row in rows):
        assert len(named) <= 1, named
        assert all((ROOT / name).exists() or (ROOT / page).parent.joinpath(name).exists() for name in named), named


def test_the_extras_that_hints_name_are_those_that_are_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name: tuple(libraries) for name, libraries in declared.items()} == EXTRAS


def test_nothing_says_that_framegate_can_be_had_by_its_name() -> None:
    for path in tracked():
        if path.suffix in {".md", ".py", ".toml", ".rs"} and path != Path(__file__):
            found = re.search(r"pip install (-\S+ )*['\"]?framegate\b(?!-)", path.read_text())
            assert found is None, f"{relative(path)}: {found}"
