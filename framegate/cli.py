# SPDX-License-Identifier: Apache-2.0
"""The command line, assembled from each package's ``commands.py``, and the one place where commands end."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

import typer
import typer.main
from typer.core import TyperGroup

from framegate import completion, variables
from framegate._version import VERSION
from framegate.command_tree import arranged
from framegate.schema.console import logs
from framegate.schema.console.reporting import numbered_error, report
from framegate.schema.errors import DONE, FAILED, WRONG_USAGE, FramegateError, WrongUsage

# Each has ``register(app)``. These modules only declare options; what a command needs is imported when it runs.
_COMMAND_MODULES: Final = (
    "framegate.driver.commands",
    "framegate.shmpool.commands.groups",
    "framegate.joinbarrier.commands.groups",
    "framegate.joinbarrier.commands.journal",
    "framegate.joinbarrier.commands.checkpoint",
    "framegate.tools.commands",
    "framegate.tools.rig.rig_commands",
    "framegate.completion",
)
TYPER_FAILURE: Final[type[Exception]] = next(
    kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and kind.__bases__ == (Exception,)
)
"""The base of what typer raises for a command line that it cannot read: typer gives it a name from 0.28 on."""

# What typer returns for a KeyboardInterrupt that a command let through.
_TYPER_INTERRUPTED: Final = 130


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing escapes but SystemExit."""
    try:
        logs.set_up(os.environ)
        for warning in variables.warnings(os.environ):
            print(f"warning: {warning}", file=sys.stderr, flush=True)
        return _run(arguments)
    except BrokenPipeError:
        return _reader_went_away()
    except TYPER_FAILURE as usage:
        return _end(WrongUsage(cast(Any, usage).format_message()), arguments)
    except (Exception, KeyboardInterrupt) as failure:
        return _end(failure, arguments)


def interrupted(arguments: Sequence[str]) -> int:
    """Say that Ctrl-C came before a command began; the exit code."""
    return _end(KeyboardInterrupt(), arguments)


def _run(arguments: Sequence[str]) -> int:
    if completion.VARIABLE in os.environ:
        completion.prepare()
    # Without a command people need the list of commands, and scripts an exit code that is not success.
    found = application()(list(arguments) or ["--help"], prog_name="framegate", standalone_mode=False)
    if found == _TYPER_INTERRUPTED:
        raise KeyboardInterrupt
    return (found or DONE) if arguments else WRONG_USAGE


def application() -> TyperGroup:
    """The whole command line."""
    app = typer.Typer(
        help="For every tick, the frames that belong together.",
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for module in _COMMAND_MODULES:
        importlib.import_module(module).register(app)
    return arranged(cast(TyperGroup, typer.main.get_command(app)))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"framegate {VERSION}")
        raise typer.Exit(DONE)


def _options(
    _version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that stand before a command."""


def _end(failure: BaseException, arguments: Sequence[str]) -> int:
    error = numbered_error(failure)
    if logs.is_debug(os.environ) and not isinstance(failure, FramegateError):
        traceback.print_exception(failure)
    try:
        report(error, as_json=_wants_json(arguments))
    except BrokenPipeError:
        return _reader_went_away()
    return error.exit_code


def _wants_json(arguments: Sequence[str]) -> bool:
    # Looked for by hand: a command line that cannot be parsed must still be answered in the form it asked for.
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _reader_went_away() -> int:
    """Whoever read our output has closed it (``| head``): no message, and none from the interpreter's own flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED
