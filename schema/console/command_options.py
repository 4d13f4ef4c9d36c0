# SPDX-License-Identifier: Apache-2.0
"""The options that many commands share, written once so that name, type and help are the same everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypedDict, get_type_hints

import typer

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Configuration file (TOML)."),
]
AeronDirOption: TypeAlias = Annotated[
    Path | None,
    # Whether it can be read is said where it is used, with its owner.
    typer.Option("--aeron-dir", metavar="DIR", readable=False, help="Directory of the media driver."),
]
BaseDirOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--base-dir", metavar="DIR", readable=False, help="Directory of the shared-memory regions."),
]
WaitDriverOption: TypeAlias = Annotated[
    float | None,
    typer.Option("--wait-driver", metavar="S", help="Seconds to wait for a driver (default 10)."),
]
JsonOption: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print JSON objects, one a line, instead of text."),
]


def absolute(path: Path | None) -> str | None:
    """A directory from the command line, seen from where the command was started."""
    return None if path is None else str(path.absolute())


class ClientWords(TypedDict):
    """What the command line said of a client, by the names that ``ClientOptions`` has for it."""

    config: Path | None
    aeron_dir: str | None
    base_dir: str | None
    wait_driver: float | None
    json: bool


def _client_words(
    config: ConfigOption = None,
    aeron_dir: AeronDirOption = None,
    base_dir: BaseDirOption = None,
    wait_driver: WaitDriverOption = None,
    as_json: JsonOption = False,
) -> ClientWords:
    return ClientWords(
        config=config,
        aeron_dir=absolute(aeron_dir),
        base_dir=absolute(base_dir),
        wait_driver=wait_driver,
        json=as_json,
    )


def by_client(command: Callable[..., int]) -> Callable[..., int]:
    """A command that takes the options of a client behind its own, and is given them as its parameter ``client``."""
    own, shared = (inspect.signature(each).parameters for each in (command, _client_words))

    @functools.wraps(command)
    def calling(**given: Any) -> int:
        words = _client_words(**{name: given.pop(name) for name in shared})
        return command(**given, client=words)

    hints = {**get_type_hints(command, include_extras=True), **get_type_hints(_client_words, include_extras=True)}
    parameters = [each for name, each in {**own, **shared}.items() if name != "client"]
    calling.__annotations__ = {each.name: hints[each.name] for each in parameters}
    calling.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    return calling
