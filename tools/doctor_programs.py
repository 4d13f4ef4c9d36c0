# SPDX-License-Identifier: Apache-2.0
"""Checks of installed programs: Python, the native module, the media driver, Java, Spark."""

from __future__ import annotations

import re
from typing import Final

from framegate.tools.doctor_machine import Finding, Machine, Wanted, existing_part

_PYTHON_MIN: Final = (3, 11)
_JAVA_MIN: Final = 17
_PYSPARK_MIN: Final = (4, 3)
_PYARROW_MIN: Final = (15, 0)
_PRINT_VERSION: Final = "import sys; print('python=%d.%d' % sys.version_info[:2])"


def python_version(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether the running Python is new enough."""
    found = f"{_dotted(machine.python)} ({machine.executable})"
    if machine.python < _PYTHON_MIN:
        mend = f"Install Python {_dotted(_PYTHON_MIN)} or newer, and framegate with it."
        return Finding("python", "fail", found, mend)
    return Finding("python", "ok", found)


def native_module(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether the compiled half of the package loads."""
    if failure := machine.native_failure():
        mend = "Install framegate anew for this interpreter, in its clone: python -m pip install --force-reinstall ."
        return Finding("native module", "fail", f"does not load: {failure}", mend)
    return Finding("native module", "ok", "loads")


def media_driver_program(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether the bundled media driver is installed. Another media driver in --aeron-dir would do as well."""
    program = machine.media_driver()
    if program is None:
        mend = "Reinstall framegate, or name the program in FRAMEGATE_MEDIA_DRIVER."
        return Finding("media driver program", "fail", "not found", mend)
    return Finding("media driver program", "ok", program)


def aeron_directory(machine: Machine, wanted: Wanted) -> Finding:
    """Whether a media driver serves the directory, or could serve it."""
    folder = wanted.aeron_dir
    if not machine.is_directory(folder):
        above = existing_part(folder, machine.is_directory)
        if not machine.is_writable(above):
            mend = "Choose another directory with --aeron-dir."
            return Finding("aeron directory", "fail", f"{folder} cannot be made: {above} is not writable", mend)
        return Finding("aeron directory", "ok", f"{folder}: none yet; framegate driver makes it")
    if not machine.is_writable(folder):
        mend = "Run as the user who owns it, or choose another directory with --aeron-dir."
        return Finding("aeron directory", "fail", f"{folder} belongs to somebody else", mend)
    if machine.is_live(folder):
        return Finding("aeron directory", "ok", f"{folder}: a live media driver")
    mend = f"framegate driver --aeron-dir {folder} replaces it."
    return Finding("aeron directory", "warn", f"{folder}: left behind by a media driver that is gone", mend)


def lease_driver(machine: Machine, wanted: Wanted) -> Finding:
    """Whether a lease driver runs: without leases nobody can produce or consume."""
    name, start = (
        "lease driver",
        f"Start one: framegate driver --aeron-dir {wanted.aeron_dir} --base-dir {wanted.base_dir}",
    )
    try:
        found = machine.lease_driver(wanted.base_dir, wanted.namespace)
    except OSError as refused:
        mend = "Run as the user whose driver it is, or choose another directory with --base-dir."
        return Finding(name, "fail", f"its lock file cannot be read: {refused.strerror}: {refused.filename}", mend)
    if found is None:
        text = f"none serves {wanted.base_dir}"
        if machine.is_live(wanted.aeron_dir):
            return Finding(name, "warn", f"{text}, and a media driver serves {wanted.aeron_dir}", start)
        return Finding(name, "ok", f"{text} yet; framegate driver starts one")
    text = f"process {found.pid} {found.state}, for {wanted.base_dir}"
    if found.state == "runs":
        return Finding(name, "ok", text)
    return Finding(
        name, "warn", text, f"Let it go on: kill -CONT {found.pid}" if found.state == "stands still" else start
    )


def java(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether Java is installed, which only Spark and the code generator need."""
    program, version = _java_program(machine), None
    if program:
        version = _java_version(machine.run([program, "-version"]) or "")
    if version is not None and version >= _JAVA_MIN:
        return Finding("java", "ok", f"{version} ({program})")
    found = f"{version} ({program})" if version else f"{program} does not run" if program else "not found"
    mend = f"Install Java {_JAVA_MIN} or newer and set JAVA_HOME to it; only Spark and code generation need it."
    return Finding("java", "fail" if machine.installed("pyspark") else "warn", found, mend)


def _java_program(machine: Machine) -> str | None:
    home = machine.environment.get("JAVA_HOME")
    return f"{home}/bin/java" if home else machine.which("java")


def _java_version(text: str) -> int | None:
    """The major version. Before Java 9 it was the second number.

    >>> _java_version('openjdk version "17.0.9"'), _java_version('java version "1.8.0_392"')
    (17, 8)
    """
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def pyspark(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether pyspark, which is optional, is new enough."""
    return _package(machine, "pyspark", _PYSPARK_MIN, is_needed=False)


def pyarrow(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether pyarrow, which Spark needs, is installed and new enough."""
    return _package(machine, "pyarrow", _PYARROW_MIN, is_needed=machine.installed("pyspark") is not None)


def _package(machine: Machine, name: str, minimum: tuple[int, int], *, is_needed: bool) -> Finding:
    version = machine.installed(name)
    mend = f'python -m pip install "{name}>={_dotted(minimum)}"'
    if version is None:
        found = "not installed; only Spark needs it"
        return Finding(name, "fail", "not installed, and pyspark is", mend) if is_needed else Finding(name, "ok", found)
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < minimum:
        return Finding(name, "fail", f"{version}, wanted {_dotted(minimum)} or newer", mend)
    return Finding(name, "ok", version)


def spark_python(machine: Machine, _wanted: Wanted) -> Finding:
    """Whether Spark's Python is this one: it starts its workers with PYSPARK_PYTHON, else python3."""
    named = machine.environment.get("PYSPARK_PYTHON")
    has_spark = machine.installed("pyspark") is not None
    if not has_spark:
        return Finding("PYSPARK_PYTHON", "ok", f"{named or 'unset'}; pyspark is not installed")
    mend = f"export PYSPARK_PYTHON={machine.executable}"
    reported = re.search(r"python=(\d+)\.(\d+)", machine.run([named or "python3", "-c", _PRINT_VERSION]) or "")
    if reported is None:
        return Finding("PYSPARK_PYTHON", "fail", f"{named or 'unset, and python3'} does not run", mend)
    version = int(reported[1]), int(reported[2])
    if version == machine.python:
        return Finding("PYSPARK_PYTHON", "ok", named or f"unset; python3 is {_dotted(version)} too")
    found = f"{named or 'unset; python3'} is {_dotted(version)}, this is {_dotted(machine.python)}"
    # If it is unset, a cluster may still have the right one on its executors. If it is set, it is wrong everywhere.
    return Finding("PYSPARK_PYTHON", "fail" if named else "warn", found, mend)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
