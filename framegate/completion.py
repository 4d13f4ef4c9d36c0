# SPDX-License-Identifier: Apache-2.0
"""The command ``framegate completion``, and what completes the words of others: journals, and streams that are there.

Whatever is not known here, a shell completes by files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

VARIABLE: Final = "_FRAMEGATE_COMPLETE"
"""By which the script of a shell asks for completions."""
_ENTRIES_MAX: Final = 4096
"""A folder that has more is looked at no further: somebody waits for the key to answer."""
_DEPTH: Final = 2


class Shell(StrEnum):
    """Whose language the script is."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("completion")(_completion)


def _completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.", show_default=False)],
) -> int:
    """Print the script by which Tab completes commands, options, journals and streams.

    For the shell that is open: source <(framegate completion bash)

    For all later ones: framegate completion bash > ~/.local/share/bash-completion/completions/framegate

    Zsh reads a file _framegate in a folder of its fpath; fish reads ~/.config/fish/completions/framegate.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # it is there

    print(get_completion_script(prog_name="framegate", complete_var=VARIABLE, shell=shell.value))
    return 0


def prepare() -> None:
    """Make this process answer a shell that asks for completions."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # it is there

    completion_init()


def journals(_context: Any, incomplete: str) -> list[Any]:
    """Folders of journals, as many levels below what is written as the README's examples have."""
    before = incomplete[: incomplete.rfind("/") + 1]
    folder = Path(before)
    found = (before + str(each.relative_to(folder)) for each in _journals_in(folder, _DEPTH))
    return _items(each for each in found if each.startswith(incomplete))


def streams(context: Any, incomplete: str) -> list[Any]:
    """The streams that have names or regions; behind a comma, the next one."""
    from framegate.schema.config.settings import default_base_dir
    from framegate.shmpool.client.stream_names import StreamNames

    given = context.params.get("base_dir") or os.environ.get("FRAMEGATE_BASE_DIR")
    before, comma, begun = incomplete.rpartition(",")
    base = Path(given or default_base_dir())
    named = StreamNames(base).by_number()
    folders = {each.name for each in islice(base.glob("tensorpool-*/*/*/"), _ENTRIES_MAX)}
    numbers = {int(each) for each in folders if each.isdigit()} - named.keys()
    names = [*sorted(named.values()), *map(str, sorted(numbers))]
    return _items(before + comma + each for each in names if each.startswith(begun))


_Completions: TypeAlias = Mapping[str | None, Callable[[Any, str], list[Any]]]
OF_ARGUMENTS: Final[_Completions] = dict.fromkeys(("JOURNAL", "JOURNAL...", "A", "B"), journals)
"""By what the help calls an argument."""
OF_OPTIONS: Final[_Completions] = {"N|NAME": streams, "N,NAME": streams, "--check": journals}
"""By what the help calls an option's value, or by the option. One that counts streams names none."""


def _journals_in(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = [each for each in islice(folder.iterdir(), _ENTRIES_MAX) if each.is_dir()]
    except OSError:
        return
    for each in sorted(entries):
        if (each / "journal.json").is_file():
            yield each
        elif depth > 1 and not each.name.startswith("."):
            yield from _journals_in(each, depth - 1)


def _items(values: Iterator[str]) -> list[Any]:
    from typer.core import CompletionItem  # type: ignore[attr-defined]  # it is there

    return [CompletionItem(each) for each in values]
