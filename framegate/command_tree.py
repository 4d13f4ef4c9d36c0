# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common, put into the tree of commands that typer has made: the screens of ``--help``, what
completes a word, and what is no value of an option."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from framegate.completion import OF_ARGUMENTS, OF_OPTIONS

NEEDS: Final = {
    "Start": ("demo", "driver", "doctor"),
    "Whole rigs": ("new", "up", "status", "logs", "down"),
    "Produce and read frames": ("produce", "consume"),
    "Join": ("join", "mergemap"),
    "Look at what was joined": ("journal", "audit"),
    "Record and replay": ("record", "replay", "inspect"),
    "Checkpoints": ("checkpoint",),
    "This program": ("completion",),
}
"""The commands by what one wants, in the order in which one comes to want it."""
_OTHERS: Final = "Others"
_PANELS: Final = {
    option: panel
    for panel, options in {
        "Options of most commands": ("--aeron-dir", "--base-dir", "--wait-driver", "--json"),
        "Checkpoints": ("--restore", "--checkpoints", "--pipeline", "--barrier-interval-ms"),
        "For other hosts": ("--flight", "--flight-token-file", "--flight-tls-cert", "--flight-tls-key"),
    }.items()
    for option in options
}
"""Options that stand by themselves, wherever a command has them."""


def arranged(root: TyperGroup) -> TyperGroup:
    """The same tree, arranged for people."""
    panels = {name: panel for panel, names in NEEDS.items() for name in names}
    places = {name: place for place, name in enumerate(panels)}
    root.commands = dict(sorted(root.commands.items(), key=lambda each: places.get(each[0], len(places))))
    named: dict[str, Any] = root.commands
    for name, command in named.items():
        command.rich_help_panel = panels.get(name, _OTHERS)
    for command in _all(root):
        if command.help and command is not root:
            # The rest of it is on the command's own screen.
            command.short_help = _first_sentence(command.help)
        for parameter in command.params:
            _arrange(parameter)
    return root


def _all(command: Any) -> Iterator[Any]:
    yield command
    for each in command.commands.values() if isinstance(command, TyperGroup) else ():
        yield from _all(each)


def _first_sentence(text: str) -> str:
    """
    >>> _first_sentence("Check every sum. Exit code 1 with the first that is wrong.")
    'Check every sum.'
    """
    sentence, end, _ = " ".join(text.split()).partition(". ")
    return sentence + end.strip()


def _arrange(parameter: Any) -> None:
    if isinstance(parameter, TyperOption):
        parameter.rich_help_panel = parameter.rich_help_panel or _PANELS.get(parameter.opts[0])
        if parameter.is_flag:
            _show_nothing(parameter, "display_type_rich")
        else:
            _refuse_options_as_values(parameter)
        # The least and the most are told to who oversteps them: on 80 columns they take the place of the words.
        _show_nothing(parameter, "_get_number_range_help_str")
    completions = OF_ARGUMENTS if isinstance(parameter, TyperArgument) else OF_OPTIONS
    for name in {parameter.metavar, *parameter.opts} & completions.keys():
        parameter.shell_complete = completions[name]


def _show_nothing(option: TyperOption, method: str) -> None:
    assert hasattr(option, method), method  # noqa: S101  (typer's own, and it may be called otherwise one day)
    setattr(option, method, lambda **_: None)


def _refuse_options_as_values(option: Any) -> None:
    """Whoever writes ``--keep --json`` has left out what follows ``--keep``."""
    process = option.process_value

    def checked(context: Any, value: Any) -> Any:
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, str) and each.startswith("--"):
                raise typer.BadParameter(
                    f"it needs a value, and {each!r} is an option; a file of that name is ./{each}",
                    ctx=context,
                    param=option,
                )
        return process(context, value)

    option.process_value = checked
