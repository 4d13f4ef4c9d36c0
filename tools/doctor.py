# SPDX-License-Identifier: Apache-2.0
"""``framegate doctor``: finds out what this machine lacks, and says how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypeAlias

from framegate.driver.configuration import DriverConfig, load_driver_config
from framegate.driver.options import DriverOptions
from framegate.schema.config.settings import config_path, default_aeron_dir
from framegate.schema.console.reporting import emit
from framegate.schema.console.terminal import print_table
from framegate.schema.errors import DONE, ENVIRONMENT, FramegateError
from framegate.tools import doctor_memory, doctor_programs
from framegate.tools.doctor_machine import Finding, Machine, Wanted, this_machine

Check: TypeAlias = Callable[[Machine, Wanted], Finding]

CHECKS: Final[tuple[Check, ...]] = (
    doctor_programs.python_version,
    doctor_programs.native_module,
    doctor_programs.media_driver_program,
    doctor_programs.aeron_directory,
    doctor_programs.lease_driver,
    doctor_memory.shared_memory_room,
    doctor_memory.shared_memory_rights,
    doctor_memory.shared_memory_mount,
    doctor_memory.huge_pages,
    doctor_memory.locked_memory,
    doctor_memory.open_files,
    doctor_memory.cores,
    doctor_programs.java,
    doctor_programs.pyspark,
    doctor_programs.pyarrow,
    doctor_programs.spark_python,
)
_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def run(options: DriverOptions, environment: Mapping[str, str], machine: Machine | None = None) -> int:
    """Check the machine and print the findings. Returns the exit code: 0 if nothing fails, else 3."""
    findings = list(examine(options, environment, machine or this_machine(environment)))
    code = ENVIRONMENT if any(finding.status == "fail" for finding in findings) else DONE
    if options.json:
        emit({"event": "doctor", "ok": code == DONE, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return code


def examine(options: DriverOptions, environment: Mapping[str, str], machine: Machine) -> Iterator[Finding]:
    """All findings. That of the configuration comes first: it decides what the machine must be able to do."""
    config, finding = _configuration(options, environment)
    yield finding
    wanted = _wanted(config, options, environment)
    for check in CHECKS:
        yield _survived(check, machine, wanted)


def _configuration(options: DriverOptions, environment: Mapping[str, str]) -> tuple[DriverConfig, Finding]:
    try:
        config = load_driver_config(options, environment)
    except (FramegateError, ImportError) as error:
        first, _, hint = str(error).partition("\n")
        return DriverConfig(), Finding("configuration", "fail", first, hint or "Reinstall framegate.")
    return config, Finding("configuration", "ok", str(config_path(options.config, environment) or "built-in profile"))


def _wanted(config: DriverConfig, options: DriverOptions, environment: Mapping[str, str]) -> Wanted:
    return Wanted(
        # The options are repeated here: if the file is invalid, this configuration is the built-in one.
        base_dir=options.base_dir or config.shm.base_dir,
        aeron_dir=options.aeron_dir or config.driver.aeron_dir or default_aeron_dir(environment),
        namespace=config.shm.namespace,
        region_root=_region_root(options.base_dir or config.shm.base_dir, config.shm.namespace),
        bytes_per_stream=config.profiles[config.default_profile].bytes_per_stream(),
        require_hugepages=config.shm.require_hugepages,
        mlock=config.policies.mlock_shm,
        threading=config.media_driver.threading,
        idle=config.media_driver.idle,
    )


def _region_root(base_dir: str, namespace: str) -> str:
    from framegate.driver.region_folders import RegionFolders

    return str(RegionFolders(Path(base_dir), namespace).root)


def _survived(check: Check, machine: Machine, wanted: Wanted) -> Finding:
    """Run a check. If it raises, that is a finding too: the other checks are still worth running."""
    try:
        return check(machine, wanted)
    except Exception as failure:
        name = check.__name__.replace("_", " ")
        found = f"the check itself failed: {type(failure).__name__}: {failure}"
        return Finding(name, "warn", found, "Mend the other findings first, then run framegate doctor again.")


def _print(findings: Sequence[Finding]) -> None:
    print_table(
        ("check", "state", "found"), [(each.name, each.status, each.found) for each in findings], styles=_STYLES
    )
    for finding in findings:
        if finding.status != "ok":
            print(f"{finding.name}: {finding.mend}")
