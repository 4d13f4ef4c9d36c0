# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: S108 - paths in shared memory are what this is about, and nothing is written there
"""How commands end: exit codes, errors as text and as JSON, Ctrl-C, and what is not imported."""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from framegate.driver.options import DriverOptions
from framegate.schema.config import loading
from framegate.schema.errors import FramegateError, MediaDriverNotFound, OfferFailed, WrongType

from framegate import cli, variables
from framegate.cli import application
from framegate.command_tree import NEEDS

WATCHDOG_S = 60

# A process whose `framegate driver` does what the test says.
STUBBED = """
import sys, types
def run(options):
{body}
sys.modules["framegate.driver.run_driver"] = types.SimpleNamespace(run=run)
sys.argv = ["framegate", "driver", *sys.argv[1:]]
from framegate.__main__ import main
sys.exit(main())
"""
# "started" is printed inside the try, so that an interrupt right after it already finds the handler.
WAIT_UNTIL_INTERRUPTED = """
    import select
    try:
        print("started", flush=True)
        while True: select.select([], [], [], 0.05)
    except KeyboardInterrupt:
        print("summary", flush=True)
    return 0
"""
WAIT_FOR_EVER = """
    import select
    try:
        print("started", flush=True)
        while True: select.select([], [], [], 0.05)
    finally:
        print("ending", flush=True)
        while True: select.select([], [], [], 0.05)
"""
LET_IT_THROUGH = """
    import select
    print("started", flush=True)
    while True: select.select([], [], [], 0.05)
"""


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("FRAMEGATE_")]:
        monkeypatch.delenv(name)


def driver_that(monkeypatch: pytest.MonkeyPatch, outcome: int | BaseException) -> list[DriverOptions]:
    """Make `framegate driver` return or raise ``outcome``; gives the options it was called with."""
    called: list[DriverOptions] = []

    def run(options: DriverOptions) -> int:
        called.append(options)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr("framegate.driver.run_driver.run", run)
    return called


def program(*arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "framegate", *arguments]
    environ = {**os.environ, **(environment or {})}
    return subprocess.run(words, capture_output=True, text=True, env=environ, timeout=WATCHDOG_S, check=False)


def imported_by(code: str) -> set[str]:
    words = [sys.executable, "-c", f"import sys, io\n{code}\nsys.stderr.write(' '.join(sys.modules))"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG_S, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_the_exit_code_is_the_one_of_the_command(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    driver_that(monkeypatch, code)
    assert cli.run(["driver"]) == code


def test_options_reach_the_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    called = driver_that(monkeypatch, 0)
    monkeypatch.chdir(tmp_path)
    words = ["driver", "--config", "f.toml", "--base-dir", "b", "--aeron-dir", "/a", "--slots", "4"]
    assert cli.run([*words, "--frame-bytes", "9", "--json"]) == 0
    (options,) = called
    assert (str(options.config), options.base_dir, options.aeron_dir) == ("f.toml", f"{tmp_path}/b", "/a")
    assert (options.slots, options.frame_bytes, options.json) == (4, 9, True)


@pytest.mark.parametrize(
    ("failure", "code", "number"),
    [
        (OfferFailed("nobody listens", stream=7), 1, 309),
        (WrongType("wanted a number", key="a.b"), 2, 902),
        (MediaDriverNotFound("none there", aeron_dir="/x"), 3, 301),
        (OSError(errno.ENOSPC, "No space left on device", "/dev/shm/x"), 3, 921),
        (OSError(errno.EACCES, "Permission denied", "/dev/shm/x"), 3, 922),
        (ValueError("two\nlines"), 1, 999),
        (KeyboardInterrupt(), 1, 998),
    ],
)
def test_failures_end_with_their_exit_code_and_two_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: BaseException,
    code: int,
    number: int,
) -> None:
    driver_that(monkeypatch, failure)
    assert cli.run(["driver"]) == code
    shown = capsys.readouterr()
    first, second = shown.err.splitlines()
    assert first.startswith(f"[FG-{number} ")
    assert second
    assert shown.out == ""


def test_json_gives_one_error_object_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_that(monkeypatch, MediaDriverNotFound("none there", aeron_dir="/x"))
    assert cli.run(["driver", "--json"]) == 3
    shown = capsys.readouterr()
    event = json.loads(shown.out)
    assert shown.out.count("\n") == 1
    assert shown.err == ""
    assert (event["event"], event["code"], event["name"]) == ("error", 301, "MEDIA_DRIVER_NOT_FOUND")
    assert (event["message"], event["facts"]) == ("none there", {"aeron_dir": "/x"})
    assert event["hint"]


@pytest.mark.parametrize(
    "arguments",
    [["driver", "--nope"], ["nope"], ["driver", "--slots", "many"], ["driver", "--slots"], ["driver", "extra"]],
)
def test_wrong_usage_is_exit_code_2_as_text_and_as_json(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert cli.run(arguments) == 2
    assert capsys.readouterr().err.startswith("[FG-907 WRONG_USAGE]")
    assert cli.run([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == 907


def test_json_behind_two_dashes_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["driver", "--", "--json"]) == 2
    assert capsys.readouterr().err.startswith("[FG-907")


def test_no_command_shows_the_commands_and_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([]) == 2
    assert "doctor" in capsys.readouterr().out


def test_a_wrong_log_level_is_wrong_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FRAMEGATE_LOG", "loud")
    assert cli.run(["driver"]) == 2
    assert "variable=FRAMEGATE_LOG" in capsys.readouterr().err


def test_a_traceback_is_shown_only_for_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_that(monkeypatch, ValueError("odd"))
    cli.run(["driver"])
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("FRAMEGATE_LOG", "debug")
    cli.run(["driver"])
    assert "Traceback" in capsys.readouterr().err


def test_an_error_without_a_number_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver_that(monkeypatch, FramegateError("a bare family"))
    assert cli.run(["driver"]) == 1
    assert "[FG-999 INTERNAL]" in capsys.readouterr().err


def test_log_lines_go_to_standard_error_at_their_level(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_options: DriverOptions) -> int:
        logging.getLogger("framegate.driver").info("quiet")
        logging.getLogger("framegate.driver").warning("heard")
        return 0

    monkeypatch.setattr("framegate.driver.run_driver.run", run)
    cli.run(["driver"])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "heard" in shown.err
    assert "quiet" not in shown.err


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_answers_before_anything_is_imported(flag: str) -> None:
    code = f"sys.argv = ['framegate', {flag!r}]\nfrom framegate.__main__ import main\nassert main() == 0"
    imported = imported_by(code)
    heavy = {"pyspark", "pyarrow", "typer", "rich", "pydantic", "numpy", "framegate.cli", "framegate._native"}
    assert not imported & heavy


INTERRUPTED_AT_ITS_END = """
    import atexit, os, signal
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
    print("started", flush=True)
    return 0
"""


def test_version_behind_other_options_answers_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version", "driver"]) == 0
    assert capsys.readouterr().out.startswith("framegate ")
    assert program("--version").stdout.startswith("framegate ")


def test_help_imports_none_of_what_commands_need() -> None:
    imported = imported_by("from framegate.cli import run\nassert run(['--help']) == 0")
    heavy = {"pyspark", "pyarrow", "numpy", "pydantic", "framegate._native", "framegate.tools.doctor"}
    assert not imported & heavy


def test_whatever_reads_our_output_may_go_away() -> None:
    words = [sys.executable, "-m", "framegate", "doctor", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(WATCHDOG_S) == 1


COMMANDS = {
    "": application(),
    **application().commands,
    **{
        f"{group} {name}": command
        for group, found in application().commands.items()
        for name, command in getattr(found, "commands", {}).items()
    },
}


def test_every_command_stands_under_what_it_is_needed_for() -> None:
    assert {name for names in NEEDS.values() for name in names} == set(application().commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_of_80_columns(command: str) -> None:
    shown = program(*command.split(), "--help", environment={"COLUMNS": "80"}).stdout
    assert "Usage: framegate" in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_help_shows_commands_by_need() -> None:
    shown = program("--help", environment={"COLUMNS": "80"}).stdout
    places = [shown.index(f" {panel} ") for panel in NEEDS]
    assert places == sorted(places)
    assert "Others" not in shown
    # What an exit code means is on the command's own screen.
    assert "Exit code" not in shown


@pytest.mark.parametrize(
    "words", [["demo", "--keep", "--json"], ["demo", "--keep=--json"], ["join", "--map", "--json", "--config", "x"]]
)
def test_an_option_is_no_value_of_the_one_before_it(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "framegate", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 2
    option = words[1].partition("=")[0]
    assert f"Invalid value for '{option}': it needs a value, and '--json' is an option" in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


class Running:
    """A stubbed `framegate driver` in a process of its own, past its start."""

    def __init__(self, body: str, *, sigint_ignored: bool = False) -> None:
        before = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" if sigint_ignored else ""
        words = [sys.executable, "-c", before + STUBBED.format(body=body)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.line() == "started"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str, str]:
        try:
            out, err = self.process.communicate(timeout=WATCHDOG_S)
        finally:
            self.process.kill()
        return self.process.returncode, out, err


@pytest.mark.parametrize("sigint_ignored", [False, True])
def test_the_first_interrupt_lets_a_command_end_cleanly(sigint_ignored: bool) -> None:
    running = Running(WAIT_UNTIL_INTERRUPTED, sigint_ignored=sigint_ignored)
    running.interrupt()
    assert running.end() == (0, "summary\n", "")


def test_an_interrupt_after_a_command_is_done_changes_nothing() -> None:
    assert Running(INTERRUPTED_AT_ITS_END).end() == (0, "", "")


def test_the_second_interrupt_ends_at_once() -> None:
    running = Running(WAIT_FOR_EVER)
    running.interrupt()
    assert running.line() == "ending"
    running.interrupt()
    assert running.end() == (-signal.SIGINT, "", "")


def test_an_interrupt_that_a_command_does_not_handle_is_one_clear_error() -> None:
    running = Running(LET_IT_THROUGH)
    running.interrupt()
    code, _, err = running.end()
    assert code == 1
    assert err.startswith("[FG-998 INTERRUPTED]")
    assert "Traceback" not in err


INTERRUPTED_IN_A_FINALIZER = """
    import os, signal
    class Grave:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            [None for _ in range(10)]
    grave = Grave()
    del grave
    print("started", flush=True)
    import select
    while True: select.select([], [], [], 0.05)
"""


def test_an_interrupt_is_not_lost_where_python_drops_what_is_raised() -> None:
    code, _, err = Running(INTERRUPTED_IN_A_FINALIZER).end()
    assert code == 1
    assert err.startswith("[FG-998 INTERRUPTED]")
    assert "Traceback" not in err


INTERRUPTED_WHILE_IT_IS_IMPORTED = """
import os, signal, sys

WANTED = sys.argv[1]

class Interrupting:
    def find_spec(self, name, *_):
        if name == WANTED:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from framegate.__main__ import main
sys.argv = ["framegate", "doctor", *sys.argv[2:]]
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["framegate.cli", "typer", "framegate.tools.doctor"])
@pytest.mark.parametrize("is_json", [False, True])
def test_an_interrupt_while_a_command_is_imported_is_one_clear_error(name: str, is_json: bool) -> None:
    words = [sys.executable, "-c", INTERRUPTED_WHILE_IT_IS_IMPORTED, name, *(["--json"] if is_json else [])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = done.stdout if is_json else done.stderr
    assert said.startswith('{"event": "error", "code": 998' if is_json else "[FG-998 INTERRUPTED]")


def test_an_interrupt_that_was_kept_back_ends_a_command_when_it_begins() -> None:
    kept = "import os, signal; signal.pthread_sigmask(signal.SIG_BLOCK, {2}); os.kill(os.getpid(), signal.SIGINT)\n"
    words = [sys.executable, "-c", kept + STUBBED.format(body=LET_IT_THROUGH)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("[FG-998 INTERRUPTED]")


def test_no_variable_that_something_reads_is_called_unknown() -> None:
    read = subprocess.run(
        ["git", "grep", "-ohE", '"FRAMEGATE_[A-Z_]+"', "--", "*.py", "*.rs", ":!tests", ":!native/*/tests"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    names = {name.strip('"') for name in read} - {variables.PREFIX}
    assert "FRAMEGATE_FLIGHT_TOKEN" in names
    assert list(variables.warnings(dict.fromkeys(names, "x"))) == []
    assert loading.PREFIX == variables.PREFIX


@pytest.mark.parametrize(
    "name",
    ["FRAMEGATE_JOIN_OUTPUTS", "FRAMEGATE_PROFILES_CAMERA_HEADER_NSLOTS", "FRAMEGATE_TEST_LANE", "FRAMEGATE_BASE_DIR"],
)
def test_known_variables_are_not_warned_of(name: str) -> None:
    assert list(variables.warnings({name: "1"})) == []


def test_unknown_variables_are_warned_of_with_the_nearest() -> None:
    (line,) = variables.warnings({"FRAMEGATE_AERON_DRI": "/x", "OTHER": "y"})
    assert line.startswith("FRAMEGATE_AERON_DRI ")
    assert line.endswith("FRAMEGATE_AERON_DIR")
