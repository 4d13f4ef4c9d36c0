# SPDX-License-Identifier: Apache-2.0
"""``python -m dev.codegen [--check]``: rewrites every generated file, or says which ones are stale."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from dev.codegen import emit_python, emit_rust, ir, model, sbe_tool
from dev.codegen.schemas import SOURCES

ROOT: Final = Path(__file__).resolve().parents[2]
XML: Final = Path("schema/xml")
# Everything below these folders is generated: what is found there and not written again is stale.
PYTHON: Final = Path("schema/gen")
RUST_FLYWEIGHTS: Final = PYTHON / "rust"
RUST_CODECS: Final = Path("native/codecs/src/gen")


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 when all is written or fresh, 1 for a difference or XML that is refused, 3 when a tool is missing."""
    parser = argparse.ArgumentParser(prog="python -m dev.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, list the files that differ")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="framegate-codegen-") as folder:
        try:
            generate(Path(folder))
        except (sbe_tool.ToolMissing, emit_rust.RustfmtMissing) as error:
            print(error, file=sys.stderr)
            return 3
        except (sbe_tool.ToolRefused, model.UnsupportedSchema) as error:
            print(error, file=sys.stderr)
            return 1
        stale = differences(Path(folder))
        if options.check:
            return report(stale)
        install(Path(folder), stale)
    print(f"{len(stale)} files written")
    return 0


def generate(output: Path) -> None:
    """Writes all generated files below ``output``, at the same relative paths as in the project."""
    for folder in (RUST_FLYWEIGHTS, RUST_CODECS):
        (output / folder).mkdir(parents=True)
    schemas = {}
    for source in SOURCES:
        xml = ROOT / XML / f"{source.module}.xml"
        sbe_tool.write_rust_crate(xml, output / RUST_FLYWEIGHTS)
        intermediate = sbe_tool.write_ir(xml, output / "ir").read_bytes()
        schema = model.build(ir.parse(intermediate))
        schemas[source] = schema
        (output / PYTHON / f"{source.module}.py").write_text(emit_python.emit(schema, source))
        (output / RUST_CODECS / f"{source.module}.rs").write_text(emit_rust.emit(schema, source))
    (output / PYTHON / "__init__.py").write_text(emit_python.PACKAGE)
    (output / RUST_CODECS / "mod.rs").write_text(emit_rust.emit_index(schemas))
    emit_rust.format_in_place(sorted((output / RUST_CODECS).glob("*.rs")), ROOT / "native/rustfmt.toml")


def differences(output: Path) -> list[Path]:
    """Generated files that are missing, different or left over, as paths relative to the project."""
    folders = (PYTHON, RUST_CODECS)
    wanted = {path for folder in folders for path in _files(output, folder)}
    present = {path for folder in folders for path in _files(ROOT, folder)}
    changed = {path for path in wanted & present if (output / path).read_bytes() != (ROOT / path).read_bytes()}
    return sorted(changed | (wanted ^ present))


def _files(base: Path, folder: Path) -> set[Path]:
    paths = (base / folder).rglob("*")
    ignored = {"__pycache__", "target", "Cargo.lock"}
    return {path.relative_to(base) for path in paths if path.is_file() and not ignored & set(path.parts)}


def report(stale: list[Path]) -> int:
    """Prints what is stale and gives the exit code."""
    for path in stale:
        print(path)
    if stale:
        print(f"{len(stale)} generated files differ from their XML: run `make codegen`", file=sys.stderr)
    return 1 if stale else 0


def install(output: Path, stale: list[Path]) -> None:
    """Copies what differs into the project and removes what is left over."""
    for path in stale:
        if (output / path).exists():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(output / path, ROOT / path)
        else:
            (ROOT / path).unlink()


if __name__ == "__main__":
    sys.exit(main())
