# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the official SBE tool, a Java program that Maven keeps in the local repository."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

VERSION: Final = "1.38.1"
JAVA_MAJOR_MIN: Final = 17
# The tool's buffers reach into JDK internals, which Java 17 closes unless it is told.
OPENS: Final = "java.base/jdk.internal.misc=ALL-UNNAMED"


class ToolMissing(Exception):
    """Java, Maven or the SBE tool is not on this machine; the text says which, and what to do."""


class ToolRefused(Exception):
    """The SBE tool does not take the XML; the text is what it says."""


def write_rust_crate(xml: Path, output: Path) -> None:
    """Writes one crate of flyweights, named after the schema's package, below ``output``."""
    _run(xml, output, "-Dsbe.target.language=Rust")


def write_ir(xml: Path, output: Path) -> Path:
    """Writes the serialized intermediate representation and returns its path."""
    output.mkdir(parents=True, exist_ok=True)
    _run(xml, output, "-Dsbe.generate.ir=true", "-Dsbe.generate.stubs=false")
    return output / f"{xml.stem}.sbeir"


def _run(xml: Path, output: Path, *settings: str) -> None:
    strict = ["-Dsbe.validation.stop.on.error=true", "-Dsbe.validation.warnings.fatal=true"]
    command = [
        java(),
        "--add-opens",
        OPENS,
        f"-Dsbe.output.dir={output}",
        *strict,
        *settings,
        "-jar",
        str(jar()),
        str(xml),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not output.is_dir():
        raise ToolRefused(f"the SBE tool refused {xml}:\n{done.stdout}{done.stderr}")


def java() -> str:
    """The path of a new enough Java."""
    program = shutil.which("java")
    if program is None:
        raise ToolMissing(
            f"Java {JAVA_MAJOR_MIN} or newer is needed to generate codecs, and there is no `java` in PATH."
        )
    banner = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', banner)
    if found is None or int(found[1]) < JAVA_MAJOR_MIN:
        raise ToolMissing(
            f"Java {JAVA_MAJOR_MIN} or newer is needed to generate codecs; `java -version` says: {banner}"
        )
    return program


def jar() -> Path:
    """The tool's jar in the local Maven repository; Maven is asked for it when it is not there."""
    path = Path.home() / ".m2/repository/uk/co/real-logic/sbe-all" / VERSION / f"sbe-all-{VERSION}.jar"
    if not path.exists():
        _ask_maven()
    if not path.exists():
        raise ToolMissing(f"the SBE tool is not at {path}; run: mvn dependency:get -Dartifact={_artifact()}")
    return path


def _ask_maven() -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise ToolMissing(f"neither the SBE tool nor `mvn`, which fetches it, is here; wanted {_artifact()}")
    done = subprocess.run([maven, "-q", "dependency:get", f"-Dartifact={_artifact()}"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolMissing(f"Maven could not fetch {_artifact()}:\n{done.stdout}{done.stderr}")


def _artifact() -> str:
    return f"uk.co.real-logic:sbe-all:{VERSION}"
