# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""The doctor on played machines: what is broken is found, named, and comes with a way to mend it."""

from __future__ import annotations

import dataclasses
import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from framegate.driver.options import DriverOptions
from framegate.tools.doctor import examine, run
from framegate.tools.doctor_machine import UNLIMITED, Finding, LeaseDriver, Machine, existing_part, this_machine

GIB = 1 << 30
MOUNTS = "overlay / overlay rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n"
JAVA_17 = 'openjdk version "17.0.9" 2023-10-17\n'


def answers(command: Sequence[str], java: str | None = JAVA_17, python: str | None = "python=3.12\n") -> str | None:
    return java if command[-1] == "-version" else python


def refused(*_: str) -> LeaseDriver | None:
    raise PermissionError(errno.EACCES, "Permission denied", "/dev/shm/tensorpool/driver.lock")


HEALTHY = Machine(
    environment={"USER": "u"},
    python=(3, 12),
    executable="/usr/bin/python3.12",
    cores=8,
    read={"/proc/mounts": MOUNTS, "/proc/meminfo": "HugePages_Total:       0\nHugePages_Free:        0\n"}.get,
    run=answers,
    which=lambda name: f"/usr/bin/{name}",
    installed={"pyspark": "4.3.0", "pyarrow": "21.0.0"}.get,
    is_directory=lambda path: path in {"/", "/dev", "/dev/shm"},
    is_writable=lambda _path: True,
    free_bytes=lambda _path: 16 * GIB,
    limit=lambda _name: UNLIMITED,
    native_failure=lambda: None,
    media_driver=lambda: "/usr/bin/framegate-media-driver",
    is_live=lambda _path: False,
    exists=lambda path: path in {"/", "/dev", "/dev/shm"},
    lease_driver=lambda _base, _namespace: None,
)
LIVE = {"is_live": lambda _path: True, "is_directory": lambda _path: True}


def machine(**differences: Any) -> Machine:
    return dataclasses.replace(HEALTHY, **differences)


def findings(played: Machine, options: DriverOptions | None = None) -> dict[str, Finding]:
    return {found.name: found for found in examine(options or DriverOptions(), played.environment, played)}


def configured(tmp_path: Path, text: str) -> DriverOptions:
    file = tmp_path / "driver.toml"
    file.write_text(text)
    return DriverOptions(config=file)


def test_a_healthy_machine_has_nothing_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(HEALTHY)
    assert {each.status for each in found.values()} == {"ok"}
    assert run(DriverOptions(), HEALTHY.environment, HEALTHY) == 0
    assert "fail" not in capsys.readouterr().out


BROKEN: list[tuple[str, str, dict[str, Any], str]] = [
    ("python", "fail", {"python": (3, 10)}, "3.11"),
    ("native module", "fail", {"native_failure": lambda: "wrong ELF class"}, "Install framegate anew"),
    ("media driver program", "fail", {"media_driver": lambda: None}, "FRAMEGATE_MEDIA_DRIVER"),
    ("aeron directory", "fail", {"is_writable": lambda _path: False}, "--aeron-dir"),
    ("aeron directory", "warn", {"is_directory": lambda _path: True}, "framegate driver --aeron-dir"),
    ("shared memory room", "fail", {"free_bytes": lambda _path: 64 << 20}, "--shm-size"),
    ("shared memory room", "fail", {"free_bytes": lambda _path: None}, "tmpfs"),
    ("shared memory room", "warn", {"free_bytes": lambda _path: 300 << 20}, "remount"),
    ("shared memory room", "fail", {"free_bytes": lambda _path: 200 << 20}, "remount"),
    ("shared memory room", "warn", {"free_bytes": lambda _path: 200 << 20, **LIVE}, "remount"),
    ("shared memory rights", "fail", {"exists": lambda _path: True}, "--base-dir"),
    ("lease driver", "warn", LIVE, "framegate driver --aeron-dir"),
    ("lease driver", "warn", {"lease_driver": lambda *_: LeaseDriver(7, "has ended")}, "framegate driver"),
    ("lease driver", "warn", {"lease_driver": lambda *_: LeaseDriver(7, "stands still")}, "kill -CONT 7"),
    ("lease driver", "fail", {"lease_driver": refused}, "--base-dir"),
    ("shared memory rights", "fail", {"is_writable": lambda path: path != "/dev/shm"}, "chmod 1777 /dev/shm"),
    ("shared memory mount", "fail", {"read": {"/proc/mounts": "tmpfs /dev/shm tmpfs ro 0 0\n"}.get}, "remount,rw"),
    ("shared memory mount", "warn", {"read": {"/proc/mounts": "/dev/sda / ext4 rw 0 0\n"}.get}, "/dev/shm"),
    ("shared memory mount", "warn", {"read": lambda _path: None}, "findmnt"),
    ("open files", "fail", {"limit": lambda _name: 64}, "ulimit -n"),
    ("open files", "warn", {"limit": lambda _name: 512}, "ulimit -n"),
    ("cores", "warn", {"cores": 1}, "two cores"),
    ("java", "fail", {"which": lambda _name: None}, "JAVA_HOME"),
    ("java", "fail", {"run": lambda command: answers(command, java='java version "1.8.0_392"')}, "17"),
    ("java", "fail", {"run": lambda command: answers(command, java=None)}, "17"),
    ("java", "warn", {"which": lambda _name: None, "installed": lambda _name: None}, "17"),
    ("pyspark", "fail", {"installed": {"pyspark": "3.5.1", "pyarrow": "21.0"}.get}, "pyspark>=4.3"),
    ("pyarrow", "fail", {"installed": {"pyspark": "4.3.0"}.get}, "pyarrow>=15"),
    ("PYSPARK_PYTHON", "warn", {"run": lambda command: answers(command, python="python=3.11\n")}, "python3.12"),
    ("PYSPARK_PYTHON", "fail", {"run": lambda command: answers(command, python=None)}, "export PYSPARK_PYTHON"),
]


@pytest.mark.parametrize(("name", "status", "differences", "mend"), BROKEN)
def test_what_is_broken_is_found_with_a_way_to_mend_it(
    name: str, status: str, differences: dict[str, Any], mend: str
) -> None:
    found = findings(machine(**differences))[name]
    assert found.status == status
    assert mend in found.mend


@pytest.mark.parametrize(("name", "status", "differences", "mend"), BROKEN)
def test_the_exit_code_is_3_exactly_when_something_fails(
    name: str, status: str, differences: dict[str, Any], mend: str
) -> None:
    played = machine(**differences)
    statuses = [found.status for found in findings(played).values()]
    assert run(DriverOptions(json=True), played.environment, played) == (3 if "fail" in statuses else 0)
    assert status in statuses


def test_a_named_worker_python_of_another_version_fails() -> None:
    environment = {"PYSPARK_PYTHON": "/opt/python3.11"}
    played = machine(environment=environment, run=lambda command: answers(command, python="python=3.11\n"))
    found = findings(played)["PYSPARK_PYTHON"]
    assert (found.status, "3.11" in found.found, "3.12" in found.found) == ("fail", True, True)


def test_the_version_of_an_old_java_is_its_second_number() -> None:
    old = machine(run=lambda command: answers(command, java='java version "1.8.0_392"'))
    assert findings(old)["java"].found.startswith("8 ")


def test_the_java_of_java_home_is_the_one_that_counts() -> None:
    asked: list[Sequence[str]] = []

    def recording(command: Sequence[str]) -> str | None:
        asked.append(command)
        return answers(command)

    findings(machine(environment={"JAVA_HOME": "/opt/jdk"}, run=recording))
    assert ["/opt/jdk/bin/java", "-version"] in asked


def test_without_spark_nothing_that_only_spark_needs_fails() -> None:
    found = findings(machine(installed=lambda _name: None, which=lambda _name: None, run=lambda _command: None))
    assert {name for name, each in found.items() if each.status == "fail"} == set()


def test_a_live_media_driver_is_well() -> None:
    found = findings(machine(is_directory=lambda _path: True, is_live=lambda _path: True))["aeron directory"]
    assert (found.status, "live" in found.found) == ("ok", True)


def test_a_lease_driver_that_runs_is_named() -> None:
    found = findings(machine(lease_driver=lambda *_: LeaseDriver(7, "runs")))["lease driver"]
    assert (found.status, "process 7 runs" in found.found) == ("ok", True)


def test_huge_pages_matter_only_where_they_are_required(tmp_path: Path) -> None:
    required = configured(tmp_path, "[shm]\nrequire_hugepages = true\n")
    none = findings(HEALTHY, required)["huge pages"]
    assert (none.status, "vm.nr_hugepages" in none.mend) == ("fail", True)
    memory = "HugePages_Total:     400\nHugePages_Free:      400\nHugepagesize:       2048 kB\n"
    tmpfs = findings(machine(read={"/proc/mounts": MOUNTS, "/proc/meminfo": memory}.get), required)["huge pages"]
    assert (tmpfs.status, "hugetlbfs" in tmpfs.found) == ("fail", True)
    mounts = "none /dev/shm hugetlbfs rw 0 0\n"
    enough = findings(machine(read={"/proc/mounts": mounts, "/proc/meminfo": memory}.get), required)["huge pages"]
    assert enough.status == "ok"


def test_the_limit_on_locked_memory_matters_only_with_mlock(tmp_path: Path) -> None:
    tight = machine(limit=lambda _name: 8 << 20)
    assert findings(tight)["locked memory"].status == "ok"
    locking = configured(tmp_path, "[policies]\nmlock_shm = true\n")
    found = findings(tight, locking)["locked memory"]
    assert (found.status, "ulimit -l" in found.mend) == ("fail", True)
    assert findings(HEALTHY, locking)["locked memory"].status == "ok"


def test_threads_that_never_sleep_need_cores_and_a_quota_counts(tmp_path: Path) -> None:
    busy = configured(tmp_path, '[media_driver]\nidle = "busy"\nthreading = "dedicated"\n')
    assert findings(HEALTHY, busy)["cores"].status == "ok"
    assert findings(machine(cores=4), busy)["cores"].status == "warn"
    quota = machine(read={"/proc/mounts": MOUNTS, "/sys/fs/cgroup/cpu.max": "200000 100000\n"}.get)
    assert findings(quota, busy)["cores"].status == "warn"
    assert findings(machine(read={"/sys/fs/cgroup/cpu.max": "max 100000\n"}.get), busy)["cores"].status == "ok"


def test_a_broken_configuration_is_a_finding_and_the_rest_is_still_looked_at(tmp_path: Path) -> None:
    options = dataclasses.replace(configured(tmp_path, "[driver]\nnope = 1\n"), base_dir="/elsewhere")
    found = findings(HEALTHY, options)
    assert (found["configuration"].status, "line=2" in found["configuration"].found) == ("fail", True)
    assert found["configuration"].mend
    assert "free in /;" in found["shared memory room"].found


def test_a_check_that_breaks_does_not_hide_the_others() -> None:
    def broken(_path: str) -> bool:
        raise RuntimeError("no such thing")

    found = findings(machine(is_directory=lambda _path: True, is_live=broken))
    assert (found["aeron directory"].status, bool(found["aeron directory"].mend)) == ("warn", True)
    assert found["java"].status == "ok"


def test_every_warning_and_failure_says_how_to_mend_it() -> None:
    for _, _, differences, _ in BROKEN:
        for found in findings(machine(**differences)).values():
            assert bool(found.mend) == (found.status != "ok"), found


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    played = machine(python=(3, 10))
    run(DriverOptions(json=True), played.environment, played)
    (line,) = capsys.readouterr().out.splitlines()
    shown = json.loads(line)
    assert (shown["event"], shown["ok"]) == ("doctor", False)
    by_name = {each["name"]: each for each in shown["findings"]}
    assert by_name["python"]["status"] == "fail"
    assert set(by_name["python"]) == {"name", "status", "found", "mend"}


def test_text_lists_every_check_and_then_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    played = machine(python=(3, 10))
    run(DriverOptions(), played.environment, played)
    shown = capsys.readouterr().out
    assert "java" in shown
    assert any(line.startswith("python: Install Python 3.11 or newer") for line in shown.splitlines())


def test_a_mount_point_with_a_space_and_one_that_is_hidden_by_another() -> None:
    mounts = "tmpfs /dev tmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n/dev/sda /dev/shm ext4 ro 0 0\n"
    found = findings(machine(read={"/proc/mounts": mounts}.get))["shared memory mount"]
    assert (found.status, "ext4" in found.found) == ("fail", True)
    spaced = machine(read={"/proc/mounts": "tmpfs /dev/s\\040m tmpfs ro 0 0\n" + MOUNTS}.get)
    assert findings(spaced)["shared memory mount"].status == "ok"


def test_the_existing_part_of_a_path() -> None:
    assert existing_part("/dev/shm/a/b", HEALTHY.is_directory) == "/dev/shm"
    assert existing_part("/nowhere", HEALTHY.is_directory) == "/"


def test_the_real_machine_can_be_looked_at(tmp_path: Path) -> None:
    options = DriverOptions(aeron_dir=str(tmp_path / "aeron"), base_dir=str(tmp_path))
    found = list(examine(options, {}, this_machine({})))
    assert all(each.found for each in found)
    assert not [each for each in found if "check itself failed" in each.found]
